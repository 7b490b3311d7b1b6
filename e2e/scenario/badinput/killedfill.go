package badinput

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"airgap.dev/airgap/e2e/scenario"
)

// killedFilling ends `airgap bundle` with kill -9 at 20 random moments: the bundle that it
// completes at last must have the same parts as the bundle of an undisturbed run.
func killedFilling(ctx context.Context, e *scenario.Env) error {
	config, err := e.Config("airgap.yaml")
	if err != nil {
		return err
	}
	undisturbed, out := filepath.Join(e.Work, "undisturbed"), filepath.Join(e.Work, "killed")
	began := time.Now()
	if err := e.Do(ctx, 0, []string{"images"}, "bundle", "-f", config, "-o", undisturbed); err != nil {
		return err
	}
	took := time.Since(began)
	random := rand.New(rand.NewPCG(4, 9))
	const kills = 20
	late := 0
	for done := 0; done < kills; {
		at := time.Duration(random.Int64N(int64(took)))
		r, err := endAt(ctx, e, "{", syscall.SIGKILL, at, "bundle", "-f", config, "-o", out, "--progress", "json")
		if err != nil {
			return err
		}
		if r.Code == -1 {
			done++
			continue
		}
		if late++; late > 3*kills {
			return fmt.Errorf("%d kills, but %d came too late", done+late, late)
		}
		if err := r.Want("bundle that completed before the kill", 0); err != nil {
			return err
		}
		if err := os.RemoveAll(out); err != nil {
			return err
		}
	}
	if err := e.Do(ctx, 0, nil, "bundle", "-f", config, "-o", out); err != nil {
		return err
	}
	want, err := partSums(undisturbed)
	if err != nil {
		return err
	}
	got, err := partSums(out)
	if err == nil && !maps.Equal(got, want) {
		err = fmt.Errorf("after %d kills the parts are %v, want %v", kills, got, want)
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(e.Log, "%d times kill -9, %d more came too late: the bundle has the same bytes\n", kills, late)
	return e.Do(ctx, 0, []string{"every byte verified"}, "inspect", "--full", filepath.Join(out, "bank"))
}

// partSums returns the SHA-256 of each part of a bundle by its name, from SHA256SUMS.
func partSums(stick string) (map[string]string, error) {
	text, err := os.ReadFile(filepath.Join(stick, "bank", "SHA256SUMS"))
	if err != nil {
		return nil, err
	}
	sums := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if sum, name, ok := strings.Cut(strings.TrimSpace(line), "  "); ok && strings.HasPrefix(name, "bundle.tar.") {
			sums[name] = sum
		}
	}
	if len(sums) == 0 {
		return nil, fmt.Errorf("no parts in SHA256SUMS of %s", stick)
	}
	return sums, nil
}
