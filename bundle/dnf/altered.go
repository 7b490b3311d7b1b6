package dnf

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"airgap.dev/airgap/internal/host"
)

// verified matches a line of `rpm -V`: the differences, the attribute of the file,
// and its path (rpm(8), "VERIFY OPTIONS").
var verified = regexp.MustCompile(`^(missing|\S{8,}) +(?:([a-z]) )? *(/.*)$`)

// Altered returns the differences that `rpm -V` finds in the packages that Run
// installed, as lines such as "S.5....T.  /usr/bin/kubelet". It omits configuration
// files, which the operator may change. A package that was erased has a line too.
// rpm reads all files, so it runs with the lowest priority.
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
	// rpm exits with an error code if it finds differences.
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
		case line == "", found != nil && (found[2] == "c" || found[2] == "g"): // configuration, or a file that is not in the package
		case found != nil:
			lines = append(lines, found[1]+"  "+found[3])
		default:
			lines = append(lines, line)
		}
	}
	return lines
}
