import { createHook } from 'node:async_hooks'

/** @type {object[]} */
const keptAlive = []

/**
 * Keeps a TickObject alive. When V8 collects old objects and finds none, it drops the hidden class for which nextTick
 * is compiled; nextTick, eight a response, then takes ten times as long (`make flame`).
 * Only hooks see them: https://nodejs.org/api/async_hooks.html#initasyncid-type-triggerasyncid-resource
 */
export function keepTickShape () {
  const hook = createHook({
    init (_id, type, _trigger, resource) {
      if (type === 'TickObject') keptAlive.push(resource)
    }
  }).enable()
  process.nextTick(() => {})
  hook.disable()
}
