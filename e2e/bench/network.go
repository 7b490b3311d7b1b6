package bench

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"time"
)

// networkLimit is the longest time to measure between a hundred hosts, all of them on
// this machine.
const networkLimit = 90 * time.Second

// networkResult matches a line of a Go benchmark: the name, and the seconds that it reports.
var networkResult = regexp.MustCompile(`(?m)^BenchmarkHundredHosts/(\w+)-?\d*\s.*?([\d.]+) seconds`)

// network measures between a hundred hosts in network namespaces, once with all packets
// passed and once with all packets dropped. A wrong result fails the benchmark at any speed.
func (b *bench) network(ctx context.Context, w *figures) error {
	cmd := exec.CommandContext(ctx, "go", "test", "./preflight/netprobe/agent", "-run", "^$", "-bench", "HundredHosts", "-benchtime", "1x", "-count", "1")
	cmd.Dir = ".."
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("measure between a hundred hosts: %w\n%s", err, out)
	}
	found := networkResult.FindAllSubmatch(out, -1)
	if len(found) != 2 {
		return errors.Join(errors.New("measure between a hundred hosts: the output has not two results"), fmt.Errorf("%s", out))
	}
	for _, m := range found {
		took, err := strconv.ParseFloat(string(m[2]), 64)
		if err != nil {
			return err
		}
		limit := networkLimit.Seconds()
		figure{"network-100-hosts-" + string(m[1]), took, "s", "limit=90s", took / limit, 1.0}.print(w)
	}
	return nil
}
