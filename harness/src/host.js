import os from 'node:os'

/** @returns {{cpu_model: string, cores: number, memory_bytes: number, kernel: string, load_average_1m: number}} */
export function hostFacts () {
  return {
    cpu_model: os.cpus()[0]?.model ?? 'unknown',
    cores: os.availableParallelism(),
    memory_bytes: os.totalmem(),
    kernel: `${os.type()} ${os.release()} ${os.arch()}`,
    load_average_1m: os.loadavg()[0]
  }
}
