import { SingleBar } from 'cli-progress'

/** How far a long command came. */
export interface Progress {
  /** A new phase; `total` null where the end is not known. */
  begin(what: string, total: number | null): void
  update(value: number): void
  end(): void
}

export const NO_PROGRESS: Progress = { begin() {}, update() {}, end() {} }

const MIB = 1024 * 1024

/** A bar that counts bytes. Only for a terminal: in a file its redrawing would be noise. */
export function createProgressBar(stream: NodeJS.WritableStream): Progress {
  let bar: SingleBar | null = null
  const inMib = (bytes: number): number => Math.round((bytes / MIB) * 10) / 10
  const end = (): void => {
    bar?.stop()
    bar = null
  }
  return {
    begin(what, total) {
      end()
      const format = total === null ? `${what} {value} MiB` : `${what} {bar} {value}/{total} MiB, {eta_formatted} left`
      bar = new SingleBar({ stream, format, hideCursor: true })
      bar.start(inMib(total ?? 0), 0)
    },
    update: (value) => bar?.update(inMib(value)),
    end,
  }
}
