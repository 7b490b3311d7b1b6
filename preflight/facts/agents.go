package facts

import (
	"context"
	"errors"
	"slices"
	"strings"

	"airgap.dev/airgap/preflight/agents"
)

// readAgents needs root: only root sees the files that other programs have open.
func readAgents(ctx context.Context, r reader, f *Facts) error {
	modules, errModules := r.optional("proc/modules") // a kernel can have no modules
	units, errUnits := r.output(ctx, "systemctl", "list-units", "--type=service", "--state=active", "--plain", "--no-legend", "--no-pager")
	programs, errPrograms := r.output(ctx, "ps", "-e", "-o", "comm=")
	watchers, errWatchers := r.watchers(ctx)
	enabled, errEnabled := r.enabled()
	for _, err := range []error{errModules, errUnits, errPrograms, errWatchers, errEnabled} {
		if err != nil {
			return err // reports show one cause
		}
	}
	f.Agents = agents.Find(agents.Host{Units: units, Programs: programs, Modules: modules, Enabled: strings.Join(enabled, "\n")})
	f.Agents.Watchers = watchers
	return nil
}

// enabledUnits has the links to most services that start at boot.
const enabledUnits = "etc/systemd/system/multi-user.target.wants"

// enabled are the names of these services. A link to a unit that is gone starts nothing.
func (r reader) enabled() ([]string, error) {
	names, err := r.names(enabledUnits)
	return slices.DeleteFunc(names, func(name string) bool { return !r.exists(enabledUnits + "/" + name) }), err
}

const maxWatchers = 50

// findWatchers are the arguments of nice for a search of the files that all programs have open, for
// fanotify. Programs that end meanwhile make find fail. It is therefore the last command that fails if
// this user may not look into other programs.
func findWatchers() []string {
	return []string{"sh", "-c", "find /proc -maxdepth 3 -path '/proc/*' ! -path '/proc/[0-9]*' -prune -o -path '/proc/[0-9]*/*' ! -path '/proc/[0-9]*/fd' ! -path '/proc/[0-9]*/fd/*' -prune -o " +
		"-lname 'anon_inode:*fanotify*' -print 2>/dev/null; head -c 1 /proc/1/environ >/dev/null"}
}

func (r reader) watchers(ctx context.Context) ([]agents.Watcher, error) {
	out, err := r.output(ctx, "nice", findWatchers()...)
	if err != nil {
		return nil, err
	}
	var all []agents.Watcher
	for i, line := range strings.Split(strings.TrimSpace(out), "\n") {
		parts := strings.Split(strings.TrimPrefix(line, "/"), "/") // proc/PID/fd/NUMBER
		if len(parts) != 4 || i >= maxWatchers {
			continue
		}
		program, errProgram := r.optional("proc/" + parts[1] + "/comm")
		info, errInfo := r.optional("proc/" + parts[1] + "/fdinfo/" + parts[3])
		if err := errors.Join(errProgram, errInfo); err != nil {
			return nil, err
		}
		w := agents.Watcher{Program: program, Blocks: agents.Blocks(info)}
		if program != "" && !slices.Contains(all, w) { // the program has not ended
			all = append(all, w)
		}
	}
	return all, nil
}
