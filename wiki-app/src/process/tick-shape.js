import { createHook } from 'node:async_hooks'

/** @type {object[]} */
const kept = []

/**
 * Keeps one of the objects that process.nextTick queues, for as long as the process lives. Each lives for microseconds, so when V8 collects old objects there
 * is mostly none, and it drops the shape of them that it has compiled nextTick for; from then on nextTick, which an answer needs eight times, takes ten times as
 * long (`make flame` shows it). As long as one is alive, V8 knows what they look like.
 * Such objects are seen by hooks alone: https://nodejs.org/api/async_hooks.html#initasyncid-type-triggerasyncid-resource
 */
export function keepTickShape () {
  const hook = createHook({
    init (_id, type, _trigger, resource) {
      if (type === 'TickObject') kept.push(resource)
    }
  }).enable()
  process.nextTick(() => {})
  hook.disable()
}
