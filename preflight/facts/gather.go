package facts

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"reflect"
	"slices"
	"strings"
	"time"

	"airgap.dev/airgap/internal/host"
)

// probe reads one kind of fact. An error makes the fact unknown, even if the probe has filled in
// a part of it.
type probe struct {
	fact string
	read func(ctx context.Context, r reader, f *Facts) error
}

// Names are the names of all facts, as in Unknown.Fact.
func Names() []string {
	var names []string
	for _, p := range probes() {
		names = append(names, p.fact)
	}
	return names
}

// probes run in parallel, because some are slow (the RPM database, a D-Bus call). No two of them
// write the same field, and none reads the field of another one.
func probes() []probe {
	return []probe{
		{"os", readOS}, {"kernel", readKernel}, {"nextKernel", readNextKernel}, {"modules", readModules}, {"init", readInit},
		{"kernelOptions", readKernelOptions}, {"kernelFeatures", readKernelFeatures}, {"secureBoot", readSecureBoot}, {"systemd", readSystemd}, {"manager", readManager},
		{"bootSwap", readBootSwap}, {"bootCommands", readBootCommands}, {"bootSELinux", readBootSELinux}, {"bootHostname", readBootHostname}, {"bootModules", readBootModules}, {"blocked", readBlocked}, {"modulesLoad", readModulesLoad},
		{"cgroup", readCgroup}, {"cpus", readCPUs}, {"cpuLevel", readCPULevel}, {"memory", readMemory}, {"swap", readSwap},
		{"identity", readIdentity}, {"firmware", readFirmware}, {"timeZone", readTimeZone}, {"now", readNow}, {"synchronized", readSynchronized}, {"timeServers", readTimeServers},
		{"filesystems", readFilesystems}, {"targets", readTargets}, {"bootMounts", readBootMounts}, {"procMount", readProcMount}, {"directories", readDirectories}, {"multipath", readMultipath}, {"xfs", readXFS}, {"diskErrors", readDiskErrors},
		{"links", readLinks}, {"routes", readRoutes}, {"rules", readRules}, {"vrfs", readVRFs}, {"listening", readListening},
		{"resolv", readResolv}, {"hosts", readHosts}, {"sysctls", readSysctls},
		{"filtering", readFiltering}, {"dropChains", readDropChains}, {"iptables", readIptables}, {"proxies", readProxies}, {"tuned", readTuned},
		{"security", readSecurity}, {"cryptoPolicy", readCryptoPolicy}, {"units", readUnits}, {"audit", readAudit}, {"umask", readUmask}, {"accounts", readAccounts}, {"unitFiles", readUnitFiles}, {"programs", readPrograms},
		{"dhcp", readDHCP}, {"usb", readUSB}, {"media", readMedia}, {"fileScans", readFileScans},
		{"packetRules", readRulesNow}, {"savedRules", readRulesSaved}, {"agents", readAgents},
		{"runtimes", readRuntimes}, {"leftovers", readLeftovers}, {"certificates", readCertificates},
		{"pci", readPCI}, {"runfile", readRunfile}, {"tools", readTools}, {"frozen", readFrozen}, {"packages", readPackages}, {"brought", readInstalledByAirgap}, {"streams", readStreams}, {DNFVariablesFact, readDNFVariables},
	}
}

// probeLimit is the time in which a probe must answer. rpm takes the longest: seconds, and up to a
// minute on a slow disk.
const probeLimit = 2 * time.Minute

// Gather reads the facts of a host, and lists unreadable ones in Facts.Unknown. The only error is
// the one of ctx.
func Gather(ctx context.Context, h host.Host) (*Facts, error) {
	return gatherWithin(ctx, h, probeLimit)
}

// GatherSome reads only the facts with these names.
func GatherSome(ctx context.Context, h host.Host, limit time.Duration, names ...string) (*Facts, error) {
	list := slices.DeleteFunc(probes(), func(p probe) bool { return !slices.Contains(names, p.fact) })
	f, err := reader{host: h, fs: h.FS()}.gather(ctx, list, limit)
	f.Surveyed = names
	return f, err
}

// gatherWithin does not wait for a probe that hangs, such as a read from a dead NFS server: its
// fact is unknown, and the others are not.
func gatherWithin(ctx context.Context, h host.Host, limit time.Duration) (*Facts, error) {
	return reader{host: h, fs: h.FS()}.gather(ctx, probes(), limit)
}

func (r reader) gather(ctx context.Context, list []probe, limit time.Duration) (*Facts, error) {
	f := &Facts{Schema: Schema, Surveyed: Names()}
	answers := make([]<-chan answer, len(list))
	for i, p := range list {
		answers[i] = p.start(ctx, r, limit)
	}
	for i, p := range list {
		got := <-answers[i]
		merge(reflect.ValueOf(f).Elem(), reflect.ValueOf(got.facts).Elem())
		if got.err != nil {
			f.Unknown = append(f.Unknown, Unknown{p.fact, got.err.Error()})
		}
	}
	return f, ctx.Err()
}

// answer has the facts of one probe.
type answer struct {
	facts *Facts
	err   error
}

// start runs the probe. A read that hangs in the kernel cannot be ended: the probe then has facts
// of its own, which nothing else uses.
func (p probe) start(ctx context.Context, r reader, limit time.Duration) <-chan answer {
	answers := make(chan answer, 2)
	limited, cancel := context.WithTimeout(ctx, limit)
	go func() {
		facts := &Facts{}
		err := p.read(limited, r, facts)
		answers <- answer{facts, err}
		cancel()
	}()
	go func() {
		<-limited.Done()
		answers <- answer{&Facts{}, fmt.Errorf("no answer within %s: a command or a file system of the host hangs", limit)}
	}()
	return answers
}

// merge sets the fields that one probe has read. Two probes can fill in parts of the same struct.
func merge(into, from reflect.Value) {
	for i := range from.NumField() {
		field := from.Field(i)
		switch {
		case field.Kind() == reflect.Struct && field.Type().PkgPath() == reflect.TypeFor[Facts]().PkgPath():
			merge(into.Field(i), field)
		case !field.IsZero():
			into.Field(i).Set(field)
		}
	}
}

// reader is the host as the probes see it.
type reader struct {
	host host.Host
	fs   fs.FS
	// mountinfo is the list of mounts; "" is the one of this process.
	mountinfo string
}

// text returns a file's content without surrounding white space.
func (r reader) text(path string) (string, error) {
	data, err := fs.ReadFile(r.fs, path)
	return strings.TrimSpace(string(data)), err
}

// optional is text, but returns "" if the file does not exist.
func (r reader) optional(path string) (string, error) {
	text, err := r.text(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return text, err
}

// content is a file's content with its white space, so that lines have their numbers; "" if the file
// does not exist.
func (r reader) content(path string) (string, error) {
	data, err := fs.ReadFile(r.fs, path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return string(data), err
}

// lines returns a file's lines.
func (r reader) lines(path string) ([]string, error) {
	text, err := r.text(path)
	if err != nil || text == "" {
		return nil, err
	}
	return strings.Split(text, "\n"), nil
}

// exists is also false if the path cannot be read; present returns that error.
func (r reader) exists(path string) bool {
	found, _ := r.present(path)
	return found
}

func (r reader) present(path string) (bool, error) {
	_, err := fs.Stat(r.fs, path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// among returns the paths that exist.
func (r reader) among(paths []string) ([]string, error) {
	var found []string
	for _, path := range paths {
		is, err := r.present(path)
		if err != nil {
			return found, err
		}
		if is {
			found = append(found, path)
		}
	}
	return found, nil
}

// names returns a directory's entries, sorted; none if the directory does not exist.
func (r reader) names(dir string) ([]string, error) {
	entries, err := fs.ReadDir(r.fs, dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		names = append(names, e.Name())
	}
	slices.Sort(names)
	return names, err
}

// output runs a command in the C locale, so that its output can be parsed.
func (r reader) output(ctx context.Context, name string, args ...string) (string, error) {
	out, err := r.host.Run(ctx, host.Cmd{Name: name, Args: args, Env: []string{"LC_ALL=C"}})
	return string(out), brief(name, err)
}

// brief shortens the error of a command to its name and the first line of its output, plus the
// error if a signal or timeout ended it. Reports show it in each check that needs the fact.
func brief(name string, err error) error {
	var failed *host.CommandError
	if !errors.As(err, &failed) {
		return err
	}
	output, _, _ := strings.Cut(failed.Tail, "\n")
	switch {
	case output == "":
		return fmt.Errorf("%s: %w", name, failed.Err)
	case failed.ExitCode < 0:
		return fmt.Errorf("%s: %w; its output: %s", name, failed.Err, output)
	}
	return fmt.Errorf("%s: %s", name, output)
}
