package emulated

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"

	"airgap.dev/airgap/e2e/lab"
	"airgap.dev/airgap/e2e/scenario"
	"airgap.dev/airgap/e2e/secrets"
)

// Sticks writes a bundle to sticks with FAT32 and exFAT, the file systems with which they
// are sold. The connected host is emulated, because its kernel must support both. They
// have no sparse files: a write far beyond the end also writes all bytes before it, which
// takes long on a slow stick. When a stick is pulled during a write, the next run must
// continue.
func Sticks(ctx context.Context, e *scenario.Env) error {
	return e.WithServersOf(ctx, lab.KindEmulated.Times(1), func(l *lab.Lab) error {
		m := l.Machines[0]
		return e.InOrder([]scenario.Part{
			{Title: "a connected host", Run: func() error { return connectHost(ctx, e, l) }},
			{Title: "a bundle on FAT32", Run: func() error { return fillStick(ctx, e, m, "vfat") }},
			{Title: "a bundle on exFAT", Run: func() error { return fillStick(ctx, e, m, "exfat") }},
			{Title: "the stick is pulled", Run: func() error { return pulledFilling(ctx, e, m) }},
		})
	})
}

// connectHost connects the lab's network to the upstream server, and copies the files
// that `airgap bundle` requires to the server.
func connectHost(ctx context.Context, e *scenario.Env, l *lab.Lab) error {
	internet, err := l.Network.Listen(ctx)
	if err != nil {
		return err
	}
	e.Upstream.Also(internet)
	e.Rules = append(e.Rules, secrets.Rule{
		Path: "/root/.config/airgap/keys/*", Kinds: []secrets.Kind{secrets.SigningKey, secrets.Key}, Mode: 0o600, Why: "the builder's keys: this server is the connected host",
	})
	const ca = "/root/ca.pem"
	config, err := e.Config("airgap.yaml", e.Upstream.CA, ca, strings.TrimPrefix(e.Upstream.URL, "https://"), internet.Addr().String())
	if err != nil {
		return err
	}
	for from, to := range map[string]string{e.Program: "/usr/local/bin/airgap", e.Helper("airgap-nvml"): "/usr/local/bin/airgap-nvml", e.Helper("airgap-probe"): "/usr/local/bin/airgap-probe", e.Upstream.CA: ca, config: "/root/airgap.yaml"} {
		f, err := os.Open(from)
		if err != nil {
			return err
		}
		err = lab.PutFile(ctx, l.Machines[0], to, 0o755, f)
		f.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

// stickSize is large enough for the lab's bundle, in bytes.
const stickSize = 1 << 30

var bundleToStick = []string{"airgap", "bundle", "-f", "/root/airgap.yaml", "-o", lab.StickPath, "--new-keys"}

// fillStick writes the bundle as one part, in which writes can be far apart. The number of
// bytes written to the device must be about the size of the bundle.
func fillStick(ctx context.Context, e *scenario.Env, m lab.Machine, filesystem string) error {
	if err := m.AttachEmptyStick(ctx, filesystem, stickSize); err != nil {
		return err
	}
	before, err := written(ctx, e, m)
	if err != nil {
		return err
	}
	r, err := e.Must(ctx, m, []string{"images"}, bundleToStick...)
	if err != nil {
		return err
	}
	fmt.Fprint(e.Log, r.Stdout)
	after, err := written(ctx, e, m)
	if err != nil {
		return err
	}
	size, err := number(ctx, e, m, `find "$0" -type f -printf '%s\n' | awk '{n += $1} END {print n}'`, lab.StickPath)
	if err != nil {
		return err
	}
	ratio := float64(after-before) / float64(size)
	fmt.Fprintf(e.Log, "%s: wrote %.1f MB for a bundle of %.1f MB, ratio %.3f\n", filesystem, float64(after-before)/1e6, float64(size)/1e6, ratio)
	if ratio > 1.05 || ratio < 1 {
		return fmt.Errorf("%d bytes were written to the stick for a bundle of %d, want a ratio of 1 to 1.05", after-before, size)
	}
	return m.PullStick(ctx)
}

// stickStat is the file with the kernel's counters of the stick's device, for a shell with
// the stick's path as $0. The seventh number is the sectors of 512 bytes that were written
// since the stick was plugged in.
const stickStat = `/sys/class/block/$(basename $(findmnt -no SOURCE "$0"))/stat`

// written returns the number of bytes written to the stick, after a sync.
func written(ctx context.Context, e *scenario.Env, m lab.Machine) (int64, error) {
	return number(ctx, e, m, `sync --file-system "$0" && awk '{print $7 * 512}' `+stickStat, lab.StickPath)
}

func number(ctx context.Context, e *scenario.Env, m lab.Machine, script string, args ...string) (int64, error) {
	r, err := e.Must(ctx, m, nil, append([]string{"sh", "-c", script}, args...)...)
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(strings.TrimSpace(r.Stdout), 10, 64)
}

// pulledFilling pulls the stick while airgap writes a bundle to it, in small parts as some
// gateways require. After the stick is plugged in again, the same command must continue.
func pulledFilling(ctx context.Context, e *scenario.Env, m lab.Machine) error {
	if err := m.AttachEmptyStick(ctx, "exfat", stickSize); err != nil {
		return err
	}
	inParts := append(bundleToStick, "--part-size", "64MiB")
	const partly = `for i in $(seq 600); do awk '{exit $7 * 512 < 120000000}' ` + stickStat + ` && exit; sleep 0.5; done; exit 1`
	r, err := pulledWhile(ctx, e, m, partly, inParts...)
	if err != nil {
		return err
	}
	if err := r.Want("bundle on a stick that is pulled", 1, "input/output error"); err != nil {
		return err
	}
	if err := m.ReplugStick(ctx); err != nil {
		return err
	}
	again, err := e.Must(ctx, m, []string{"kept from an earlier run"}, inParts...)
	if err != nil {
		return err
	}
	fmt.Fprint(e.Log, again.Stdout)
	return e.Script(ctx, m, "cd "+lab.StickPath+"/bank && sha256sum --quiet -c SHA256SUMS")
}

// pulledWhile runs a command on a server, and pulls the stick as soon as the shell script
// when succeeds. The script gets the stick's path as $0.
func pulledWhile(ctx context.Context, e *scenario.Env, m lab.Machine, when string, args ...string) (scenario.Result, error) {
	type outcome struct {
		scenario.Result
		error
	}
	ended := make(chan outcome, 1)
	go func() {
		r, err := e.On(ctx, m, "", args...)
		ended <- outcome{r, err}
	}()
	if _, err := e.Must(ctx, m, nil, "sh", "-c", when, lab.StickPath); err != nil {
		return scenario.Result{}, err
	}
	if err := m.PullStick(ctx); err != nil {
		return scenario.Result{}, err
	}
	end := <-ended
	return end.Result, end.error
}
