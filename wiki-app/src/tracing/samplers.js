/** Which requests are traced, by OpenTelemetry's names. Loads none of its modules. */
export const SAMPLERS = /** @type {const} */ ([
  'always_on', 'always_off', 'traceidratio', 'parentbased_always_on', 'parentbased_always_off',
  'parentbased_traceidratio'
])
