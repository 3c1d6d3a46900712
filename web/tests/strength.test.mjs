/** Password strength: length counts most; common passwords and known data count almost nothing. */
import assert from "node:assert/strict";
import test from "node:test";
import { strength } from "../app/strength.js";

/** @type {[password: string, level: number][]} */
const TABLE = [
  ["", 0],
  ["short", 0],
  ["elevensigns", 0],
  ["aaaaaaaaaaaaaaaaaaaaaaaa", 1],
  ["password1234", 1],
  ["PasswortPasswort!", 1],
  ["abcdefghijklmnopqrst", 1],
  ["ada@example.com", 1],
  ["LovelaceAda!!", 1],
  ["Sommer2024Sommer", 2],
  ["a dog and cat", 2],
  ["xK9#mQ2$vL8p", 3],
  ["four words are fine", 3],
  ["twelve wise words are enough", 4],
  ["Fünf Wörter sind mehr als genug", 4],
];

test("a password is as strong as what nobody can guess of it", () => {
  for (const [password, level] of TABLE) assert.equal(strength(password, ["ada@example.com", "Ada Lovelace"]), level, password);
});
