package bench

import (
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"time"
)

// networkLimit is the longest time to measure between a hundred hosts, all of them on
// this machine. Fewer hosts have the same limit, which they do not miss: their times are for comparison.
const networkLimit = 90 * time.Second

// networkSizes are the numbers of hosts.
var networkSizes = []int{2, 10, 100}

// networkResult matches a line of a Go benchmark: the hosts, the network, and the seconds that it
// reports.
var networkResult = regexp.MustCompile(`(?m)^BenchmarkHosts/(\d+)/(open|closed)(?:-\d+)?\s.*?([\d.]+) seconds`)

// network measures between hosts in network namespaces, once with all packets passed and
// once with all packets dropped. A wrong result fails the benchmark at any speed.
func (b *bench) network(ctx context.Context, w *figures) error {
	cmd := exec.CommandContext(ctx, "go", "test", "./preflight/netprobe/agent", "-run", "^$", "-bench", "Hosts", "-benchtime", "1x", "-count", "1")
	cmd.Dir = ".."
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("measure between hosts: %w\n%s", err, out)
	}
	return networkFigures(string(out), w)
}

// networkFigures prints the time of each network in the output of the Go benchmark.
func networkFigures(out string, w *figures) error {
	found := networkResult.FindAllStringSubmatch(out, -1)
	if len(found) != 2*len(networkSizes) {
		return fmt.Errorf("measure between hosts: the output has %d results instead of %d\n%s", len(found), 2*len(networkSizes), out)
	}
	for _, m := range found {
		took, err := strconv.ParseFloat(m[3], 64)
		if err != nil {
			return err
		}
		limit := networkLimit.Seconds()
		figure{"network-" + m[1] + "-hosts-" + m[2], took, "s", fmt.Sprintf("limit=%.0fs", limit), took / limit, 1.0}.print(w)
	}
	return nil
}
