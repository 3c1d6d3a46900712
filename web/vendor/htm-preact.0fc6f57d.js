import{h as r,Component as o,render as t}from"./preact.225d7a77.js";export{h,render,Component}from"./preact.225d7a77.js";import e from"./htm.ab33dd3f.js";var m=e.bind(r);export{m as html};
