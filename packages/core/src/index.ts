export { recordDigest, type SourcePosition, type SourceRecord } from './record.ts'
