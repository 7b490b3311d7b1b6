package preflight

import (
	"context"

	"airgap.dev/airgap/internal/nextboot"
)

func readNextKernel(_ context.Context, r reader, f *Facts) (err error) {
	f.Boot.Entry, err = nextboot.ReadEntry(r.fs)
	f.Kernel.Next = f.Boot.Entry.Release
	return err
}
