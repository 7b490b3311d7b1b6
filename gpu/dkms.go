package gpu

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"

	"airgap.dev/airgap/internal/host"
)

// dkms builds the module of a kernel on the host (Dynamic Kernel Module Support).
type dkms struct{ Setup }

// build builds the module with DKMS for each kernel that has headers and no module. The driver's
// package builds it only for the running kernel, and hides a failure (a full disk, headers that were
// installed later). A failure for a kernel that neither runs nor boots next is only a warning. build
// does nothing if the site installs the driver.
func (d dkms) build(ctx context.Context) error {
	sources, err := fs.Glob(d.Host.FS(), "var/lib/dkms/nvidia*")
	if err != nil || len(sources) == 0 || d.Driver == (Choice{}) || !d.has("usr/sbin/dkms") {
		return err
	}
	have, err := d.kernels("nvidia")
	if err != nil {
		return err
	}
	headers, err := d.headers()
	if err != nil {
		return err
	}
	running, err := d.running()
	if err != nil {
		return err
	}
	for _, kernel := range headers {
		if slices.Contains(have, kernel) {
			continue
		}
		err := d.buildFor(ctx, kernel)
		if err != nil && (ctx.Err() != nil || kernel == running || kernel == d.Next) {
			return err
		}
		if err != nil {
			d.warn("%v\nThis kernel neither runs nor boots next, so airgap continues. If the host boots it later, it has no driver", err)
		}
	}
	return nil
}

func (d dkms) buildFor(ctx context.Context, kernel string) error {
	env, err := d.compiling(kernel)
	if err != nil {
		return err
	}
	_, err = d.Host.Run(ctx, host.Cmd{Name: "dkms", Args: []string{"autoinstall", "-k", kernel}, Env: env})
	if err == nil {
		return nil
	}
	if have, errHave := d.kernels("nvidia"); errHave == nil && slices.Contains(have, kernel) {
		return nil // dkms builds all modules, and another one has failed
	}
	return d.explainBuild(ctx, kernel, err)
}

// headers returns the kernels with installed headers.
func (d dkms) headers() ([]string, error) {
	files, err := fs.Glob(d.Host.FS(), "lib/modules/*/build/Makefile")
	var kernels []string
	for _, f := range files {
		kernels = append(kernels, path.Base(path.Dir(path.Dir(f))))
	}
	return kernels, err
}

// explainBuild adds the end of the compiler's log.
func (d dkms) explainBuild(ctx context.Context, kernel string, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	f := &Failure{
		What: "build NVIDIA's kernel module for " + kernel, Err: err,
		Next: "fix the compiler error, then run the same command again; the bundle has installed headers and compiler",
	}
	logs, globErr := fs.Glob(d.Host.FS(), "var/lib/dkms/nvidia*/*/build/make.log")
	if globErr != nil || len(logs) == 0 {
		return f
	}
	log := logs[len(logs)-1]
	text, readErr := fs.ReadFile(d.Host.FS(), log)
	if readErr != nil && !errors.Is(readErr, fs.ErrNotExist) {
		f.Log = fmt.Sprintf("/%s: %v", log, readErr)
		return f
	}
	f.Log = "/" + log + " ends with:\n" + lastLines(string(text), 12)
	return f
}
