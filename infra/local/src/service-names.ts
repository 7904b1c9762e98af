/** Every server of the stack, in the order in which it is shown. */
export const SERVICE_NAMES = ['mysql-0', 'mysql-1', 'kafka', 's3'] as const

export type ServiceName = (typeof SERVICE_NAMES)[number]

/** One kind of server: what is given from outside is given for a whole kind. */
export type ServiceKind = 'mysql' | 'kafka' | 's3'

export function isServiceName(text: string): text is ServiceName {
  return SERVICE_NAMES.some((name) => name === text)
}

export function kindOf(service: ServiceName): ServiceKind {
  switch (service) {
    case 'mysql-0':
    case 'mysql-1':
      return 'mysql'
    case 'kafka':
      return 'kafka'
    case 's3':
      return 's3'
  }
}
