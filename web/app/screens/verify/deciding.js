/**
 * Which step of a dialog gave the reply that decided; -1 where none of those that are kept did.
 * @param {any} probe
 */
export const deciding = ({ steps, host, stage, code, enhanced }) =>
  steps.findLastIndex((step) => !step.random && step.host === host && step.stage === stage && step.code === code && step.enhanced === enhanced);
