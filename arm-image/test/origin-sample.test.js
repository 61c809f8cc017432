import assert from 'node:assert/strict'
import { totalmem } from 'node:os'
import test from 'node:test'
import { createParser, sampleOrigin } from '../src/origin-sample.js'

/** @param {string[]} lines */
function parsed (lines) {
  const parse = createParser(() => 1_700_000_100.5)
  return lines.map((line) => parse(line)).filter((sample) => sample !== null)
}

test('sampleOrigin reports one sample a second and sees the load of a busy loop', async () => {
  /** @type {import('../src/origin-sample.js').OriginSample[]} */
  const samples = []
  await new Promise((resolve, reject) => {
    const sampler = sampleOrigin({
      command: 'sh',
      args: ['-c'],
      onSample (sample) {
        samples.push(sample)
        const until = performance.now() + 300
        while (performance.now() < until);
        if (samples.length === 2) sampler.stop().then(resolve)
      }
    })
    sampler.ended.catch(reject)
  })
  const [first, second] = samples
  assert.ok(Math.abs(first.time_s - Date.now() / 1000) < 60, `${first.time_s}`)
  assert.ok(second.time_s - first.time_s >= 0.99, `${first.time_s} ${second.time_s}`)
  assert.ok(second.cpu_ratio > 0 && second.cpu_ratio <= 1, `${second.cpu_ratio}`)
  assert.ok(second.memory_used_bytes > 1e6 && second.memory_used_bytes < totalmem())
  assert.ok(Number(second.received_bytes) >= 0 && Number(second.sent_bytes) >= 0)
})

test('a sample is the difference of two consecutive readings', () => {
  assert.deepEqual(parsed([
    '100.50 180.00',
    '100.50 10 0 10 80 0 0 0 0 1000 600 45123 eth0:1000:2000',
    '101.50 30 0 30 120 0 0 0 20 1000 500 46000 eth0:1500:2300'
  ]), [{
    time_s: 1700000101.5,
    cpu_ratio: 0.4,
    memory_used_bytes: 500 * 1024,
    temperature_c: 46,
    received_bytes: 500,
    sent_bytes: 300
  }])
})

test('bytes count once behind a bridge, a restarted counter counts 0, and a missing thermometer gives null', () => {
  const [sample] = parsed([
    '0.00 0.00',
    '1.00 0 0 0 1 0 0 0 0 1000 600 - eth0:100:100 lan1:90:90 switch:80:4000000000',
    '2.00 0 0 0 2 0 0 0 0 1000 600 - eth0:300:300 lan1:290:290 switch:180:50'
  ])
  assert.deepEqual(
    [sample.received_bytes, sample.sent_bytes, sample.temperature_c, sample.cpu_ratio],
    [100, 0, null, 0]
  )
})

test('unexpected output is an error, and so is a sampler that ends by itself', async () => {
  assert.throws(() => parsed(['0.00 0.00', 'Last login: yesterday']), /printed an unexpected line: Last login/)
  await assert.rejects(
    sampleOrigin({ command: 'sh', args: ['-c', 'echo Welcome; exec sleep 60'], onSample: () => {} }).ended,
    /printed an unexpected line: Welcome/
  )
  await assert.rejects(
    sampleOrigin({ command: 'sh', args: ['-c', 'echo no route >&2; exit 255'], onSample: () => {} }).ended,
    /ended \(exit code 255\): no route/
  )
})
