import { createHook } from 'node:async_hooks'

/** @type {object[]} */
const keptAlive = []

/**
 * Keeps one of the objects that process.nextTick queues alive. Normally none exists in most moments when V8 collects
 * old objects; V8 then drops the shape (hidden class) for which it has compiled nextTick. From then on nextTick, which
 * a response needs eight times, takes ten times as long (`make flame`).
 * Only hooks see such objects: https://nodejs.org/api/async_hooks.html#initasyncid-type-triggerasyncid-resource
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
