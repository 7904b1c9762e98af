import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { StackError } from '../errors.ts'
import { findProgram } from '../find-program.ts'
import { type CommandControl, runCommand } from '../run-command.ts'
import type { ProvisionContext } from './context.ts'

const ARCHIVE_KEYRING = '/usr/share/keyrings/debian-archive-keyring.gpg'
const UPDATE_TIMEOUT_MS = 5 * 60_000
const DOWNLOAD_TIMEOUT_MS = 15 * 60_000
const UNPACK_TIMEOUT_MS = 2 * 60_000

export interface PackageRequest {
  /** What is being fetched, for the progress lines. */
  readonly title: string
  readonly packages: readonly string[]
  /** Suites tried in this order. */
  readonly suites: readonly string[]
  /** Package names taken as installed, so that they are not downloaded (such as a Java runtime). */
  readonly assumeInstalled?: readonly string[]
  /** Patterns of `tar --exclude`. */
  readonly exclude?: readonly string[]
  /** What to set when this machine has no Debian archive to download from. */
  readonly otherwise: string
}

/**
 * Downloads Debian packages with everything they depend on, checks their signatures, and unpacks
 * their files into `intoDir`, which the caller has locked. Nothing is installed: apt runs with lists, status and cache of its own
 * in a work folder, no maintainer script runs, and any user may do it.
 *
 * @throws StackError MISSING_TOOL or PROVISION_FAILED.
 */
export async function unpackDebianPackages(context: ProvisionContext, request: PackageRequest, intoDir: string): Promise<void> {
  for (const tool of ['apt-get', 'dpkg', 'dpkg-deb', 'tar']) {
    if (findProgram(tool, context.environment) === undefined) {
      throw new StackError('MISSING_TOOL', `${tool} is not on this machine. ${request.otherwise}`)
    }
  }
  const { stdout } = await runCommand('dpkg', ['--print-architecture'], { timeoutMs: 10_000 })
  const workDir = `${intoDir}.apt`
  // Left by a process that was killed; the caller holds the lock, so it is nobody else's.
  rmSync(workDir, { recursive: true, force: true })
  try {
    writePrivateApt(workDir, stdout.trim(), request.assumeInstalled ?? [])
    await fetchLists(context, request, workDir, stdout.trim())
    context.onProgress(`${request.title}: downloading packages`)
    await apt(workDir, ['install', '--download-only', '-y', ...request.packages], {
      timeoutMs: DOWNLOAD_TIMEOUT_MS,
      control: context,
    })
    await unpack(context, request, join(workDir, 'cache', 'archives'), intoDir)
  } finally {
    rmSync(workDir, { recursive: true, force: true })
  }
}

/** The code names of this machine's own Debian suites, such as `bookworm`. */
export async function machineSuites(): Promise<readonly string[]> {
  const { stdout } = await runCommand('apt-get', ['indextargets', '--format', '$(CODENAME)', 'Created-By: Packages'], { timeoutMs: 30_000 })
  return unique(stdout.split('\n').filter((line) => /^[a-z]+$/.test(line)))
}

async function machineMirrors(): Promise<readonly string[]> {
  const { stdout } = await runCommand('apt-get', ['indextargets', '--format', '$(REPO_URI)'], {
    timeoutMs: 30_000,
  })
  // The security and updates archives carry other suites than the main one.
  return unique(stdout.split('\n').filter((line) => /\/debian\/?$/.test(line)))
}

async function fetchLists(context: ProvisionContext, request: PackageRequest, workDir: string, architecture: string): Promise<void> {
  const mirrors = await machineMirrors()
  let lastFailure: unknown
  for (const mirror of mirrors) {
    for (const suite of request.suites) {
      context.onProgress(`${request.title}: fetching the package list of ${suite}`)
      writeFileSync(
        join(workDir, 'etc', 'sources.list'),
        `deb [arch=${architecture} signed-by=${ARCHIVE_KEYRING}] ${mirror} ${suite} main\n`,
      )
      try {
        await apt(workDir, ['update'], { timeoutMs: UPDATE_TIMEOUT_MS, control: context })
        await apt(workDir, ['install', '--print-uris', '-y', ...request.packages], {
          timeoutMs: UPDATE_TIMEOUT_MS,
          control: context,
        })
        return
      } catch (error) {
        if (!(error instanceof StackError) || error.code !== 'COMMAND_FAILED') {
          throw error
        }
        lastFailure = error
      }
    }
  }
  const detail = lastFailure instanceof Error ? `\n${lastFailure.message}` : ''
  throw new StackError(
    'PROVISION_FAILED',
    `${request.title}: this machine's apt sources name no reachable Debian archive that has ` +
      `${request.packages.join(', ')}. ${request.otherwise}${detail}`,
    { cause: lastFailure },
  )
}

async function unpack(context: ProvisionContext, request: PackageRequest, archivesDir: string, intoDir: string): Promise<void> {
  const files = readdirSync(archivesDir).filter((name) => name.endsWith('.deb'))
  context.onProgress(`${request.title}: unpacking ${files.length} packages`)
  mkdirSync(intoDir, { recursive: true })
  const excludes = (request.exclude ?? []).map((pattern) => `--exclude=${pattern}`)
  const script = 'set -e; f=$1; shift; dpkg-deb --fsys-tarfile "$f" | tar -x "$@"'
  for (const file of files) {
    await runCommand(
      'sh',
      [
        ...['-c', script, 'sh', join(archivesDir, file), '-C', intoDir],
        ...['--no-same-owner', '--no-same-permissions', '--keep-directory-symlink'],
        ...['./usr/share/doc', './usr/share/man', './usr/share/locale', './dev'].map((path) => `--exclude=${path}`),
        ...excludes,
      ],
      { timeoutMs: UNPACK_TIMEOUT_MS, control: context },
    )
  }
}

function apt(workDir: string, args: readonly string[], options: { timeoutMs: number; control: CommandControl }) {
  return runCommand('apt-get', ['-c', join(workDir, 'apt.conf'), '-q', ...args], {
    ...options,
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive', LC_ALL: 'C' },
  })
}

function writePrivateApt(workDir: string, architecture: string, assumeInstalled: readonly string[]): void {
  for (const folder of ['lists/partial', 'cache/archives/partial', 'etc/sources.d', 'etc/preferences.d', 'state', 'log']) {
    mkdirSync(join(workDir, folder), { recursive: true })
  }
  writeFileSync(join(workDir, 'extended_states'), '')
  writeFileSync(join(workDir, 'etc', 'preferences'), '')
  writeFileSync(join(workDir, 'status'), assumeInstalled.map((name) => statusEntry(name, architecture)).join('\n'))
  writeFileSync(join(workDir, 'apt.conf'), aptConfiguration(workDir, architecture))
}

function statusEntry(name: string, architecture: string): string {
  return [
    `Package: ${name}`,
    'Status: install ok installed',
    `Architecture: ${architecture}`,
    'Version: 9:99',
    'Maintainer: onceledger',
    'Description: taken as installed',
    '',
  ].join('\n')
}

function aptConfiguration(workDir: string, architecture: string): string {
  return `
Dir::Etc::sourcelist "${workDir}/etc/sources.list";
Dir::Etc::sourceparts "${workDir}/etc/sources.d";
Dir::Etc::preferences "${workDir}/etc/preferences";
Dir::Etc::preferencesparts "${workDir}/etc/preferences.d";
Dir::State "${workDir}/state";
Dir::State::lists "${workDir}/lists";
Dir::State::status "${workDir}/status";
Dir::State::extended_states "${workDir}/extended_states";
Dir::Cache "${workDir}/cache";
Dir::Cache::archives "${workDir}/cache/archives";
Dir::Cache::pkgcache "";
Dir::Cache::srcpkgcache "";
Dir::Log "${workDir}/log";
APT::Architecture "${architecture}";
#clear APT::Architectures;
APT::Architectures { "${architecture}"; };
#clear APT::Default-Release;
APT::Install-Recommends "false";
APT::Install-Suggests "false";
APT::Sandbox::User "root";
APT::Get::AllowUnauthenticated "false";
Acquire::AllowInsecureRepositories "false";
Acquire::Languages "none";
Acquire::Retries "3";
Acquire::http::Timeout "30";
Acquire::https::Timeout "30";
APT::Update::Error-Mode "any";
#clear Acquire::IndexTargets::deb::DEP-11;
#clear Acquire::IndexTargets::deb::DEP-11-icons-small;
#clear Acquire::IndexTargets::deb::DEP-11-icons;
#clear Acquire::IndexTargets::deb::DEP-11-icons-hidpi;
#clear Acquire::IndexTargets::deb::CNF;
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
#clear DPkg::Pre-Invoke;
#clear DPkg::Post-Invoke;
#clear DPkg::Pre-Install-Pkgs;
`
}

function unique(values: readonly string[]): readonly string[] {
  return [...new Set(values)]
}
