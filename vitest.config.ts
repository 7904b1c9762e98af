import { defineConfig } from 'vitest/config'

const MINUTE_MS = 60_000

/** unit: no server, in parallel. integration: one shared stack, in parallel. fault and e2e: servers and processes are killed, one file at a time. */
export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'unit',
          include: [
            'packages/*/test/**/*.test.ts',
            'services/*/test/**/*.test.ts',
            'infra/*/test/**/*.test.ts',
            'demo/test/**/*.test.ts',
            'test/{tidy,runner}/*.test.ts',
          ],
          testTimeout: MINUTE_MS,
        },
      },
      {
        test: {
          name: 'integration',
          include: ['test/integration/**/*.test.ts'],
          globalSetup: ['test/global-setup.ts'],
          testTimeout: MINUTE_MS,
          hookTimeout: MINUTE_MS,
          maxWorkers: 2,
        },
      },
      {
        test: {
          name: 'fault',
          include: ['test/fault/**/*.test.ts'],
          globalSetup: ['test/global-setup.ts'],
          testTimeout: 4 * MINUTE_MS,
          hookTimeout: 2 * MINUTE_MS,
          fileParallelism: false,
        },
      },
      {
        test: {
          name: 'e2e',
          include: ['test/e2e/**/*.test.ts'],
          globalSetup: ['test/global-setup.ts'],
          testTimeout: 6 * MINUTE_MS,
          hookTimeout: 2 * MINUTE_MS,
          fileParallelism: false,
        },
      },
    ],
  },
})
