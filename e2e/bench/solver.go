package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"time"
)

// denseLimit is the longest time for a plan of 200 packages in 60 versions that require ranges of versions of
// each other.
const denseLimit = 2 * time.Second

// solverResult matches a line of a Go benchmark: the name, the seconds of the comparison, the seconds.
var solverResult = regexp.MustCompile(`(?m)^BenchmarkSolver/(\w+)-?\d*\s.*?([\d.e+-]+) compared.*?([\d.e+-]+) seconds`)

var errNoMetadata = errors.New("compare plans of real packages with dnf: set AIRGAP_REPODATA to a copy of the metadata of CentOS Stream 9 (baseos and appstream)")

// solver compares plans of packages with dnf, and the explanation of a refusal with the search that found it.
// A plan reads, verifies and resolves the same metadata as a dnf without a cache; a second plan and `dnf -C` have
// a warm cache. AIRGAP_REPODATA is the directory with the metadata of CentOS Stream 9. Without it, the figures of
// generated metadata are still measured before the error.
func (b *bench) solver(ctx context.Context, w *figures) error {
	var missing error
	want := 5
	if os.Getenv("AIRGAP_REPODATA") == "" {
		missing, want = errNoMetadata, 3 // without real and real_cached
	}
	cmd := exec.CommandContext(ctx, "go", "test", "./bundle/rpm", "-run", "^$", "-bench", "Solver", "-benchtime", "1x", "-count", "1")
	cmd.Dir = ".."
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("compare plans with dnf: %w\n%s", err, out)
	}
	found := solverResult.FindAllSubmatch(out, -1)
	if len(found) != want {
		return errors.Join(fmt.Errorf("compare plans with dnf: the output has %d results, not %d", len(found), want), fmt.Errorf("%s", out))
	}
	for _, m := range found {
		other, err := strconv.ParseFloat(string(m[2]), 64)
		if err != nil {
			return err
		}
		took, err := strconv.ParseFloat(string(m[3]), 64)
		if err != nil {
			return err
		}
		solverFigures(string(m[1]), duration(took), duration(other), w)
	}
	return missing
}

func solverFigures(name string, took, other time.Duration, w *figures) {
	switch name {
	case "real":
		seconds("plan-packages", took, "dnf", other, 1.5).print(w)
	case "real_cached":
		seconds("plan-packages-cached", took, "dnf -C", other, 1.5).print(w)
	case "dense":
		seconds("plan-dense", took, "dnf", other, 1.5).print(w)
		seconds("plan-dense-limit", took, "limit", denseLimit, 1.0).print(w)
	case "dense_cached":
		seconds("plan-dense-cached", took, "dnf -C", other, 1.5).print(w)
	case "refused":
		seconds("explain-dense", took, "solve", other, 1.0).print(w)
	}
}

func duration(seconds float64) time.Duration { return time.Duration(seconds * float64(time.Second)) }
