/**
 * Index of the dialog step with the deciding reply; -1 if none of the stored steps has it.
 * @param {any} probe
 */
export const deciding = ({ steps, host, stage, code, enhanced }) =>
  steps.findLastIndex((step) => !step.random && step.host === host && step.stage === stage && step.code === code && step.enhanced === enhanced);
