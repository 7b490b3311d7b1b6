package rpm

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"airgap.dev/airgap/internal/host"
)

// verified is a line of `rpm -V`: what differs, which attribute the file has in
// its package, and its path (rpm(8), "VERIFY OPTIONS").
var verified = regexp.MustCompile(`^(missing|\S{8,}) +(?:([a-z]) )? *(/.*)$`)

// Altered has rpm compare the files of the packages that Run installed with what
// it knows of them, at the lowest priority: it reads them all. The lines are
// rpm's, "S.5....T.  /usr/bin/kubelet", without those of configuration files,
// which are there to be changed; a package that somebody erased has one, too.
func (t Transaction) Altered(ctx context.Context) ([]string, error) {
	done, err := t.recorded()
	if err != nil || len(done.Packages) == 0 {
		return nil, err
	}
	args := append([]string{"-n", "19", "ionice", "-c", "3", "rpm", "-V", "--nodeps", "--noscripts"}, rpmNames(done.Packages)...)
	out, err := t.Host.Run(ctx, host.Cmd{Name: "nice", Args: args})
	if err == nil {
		return nil, nil
	}
	// A difference is an exit code as well.
	var failed *host.CommandError
	if !errors.As(err, &failed) || failed.ExitCode <= 0 || len(out) == 0 {
		return nil, fmt.Errorf("verify the packages that airgap installed: %w", err)
	}
	return altered(string(out)), nil
}

func altered(out string) []string {
	var lines []string
	for line := range strings.Lines(out) {
		line = strings.TrimSpace(line)
		found := verified.FindStringSubmatch(line)
		switch {
		case line == "", found != nil && (found[2] == "c" || found[2] == "g"): // configuration, or no content of the package's
		case found != nil:
			lines = append(lines, found[1]+"  "+found[3])
		default:
			lines = append(lines, line)
		}
	}
	return lines
}
