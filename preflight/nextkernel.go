package preflight

import (
	"context"
	"io/fs"

	"airgap.dev/airgap/internal/nextboot"
)

func readNextKernel(_ context.Context, r reader, f *Facts) (err error) {
	f.Boot.Entry, err = nextboot.ReadEntry(r.fs)
	f.Kernel.Next = f.Boot.Entry.Release
	return err
}

// ReadNextKernel reads the release of the boot loader's default kernel, as grubby
// --default-kernel does. It is "" on a host without boot loader entries.
func ReadNextKernel(host fs.FS) (string, error) {
	entry, err := nextboot.ReadEntry(host)
	return entry.Release, err
}
