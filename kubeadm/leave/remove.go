package leave

import (
	"context"
	"slices"
	"strings"

	"airgap.dev/airgap/internal/host"
)

// deleteNew deletes the files that were created in p since the record, at the recorded target. It
// unmounts first, so that it deletes no files of a mounted volume.
func (m Member) deleteNew(ctx context.Context, p string, r record) error {
	if was := r.Paths[p]; was != absent && was != empty {
		return nil
	}
	if err := m.unmoved(r, p); err != nil {
		return err
	}
	at, err := m.placeOf(p)
	if err != nil {
		return err
	}
	if err := m.unmountBelow(ctx, at.Real); err != nil {
		return err
	}
	if r.Paths[p] == absent {
		return host.RemoveTree(at.Real)
	}
	return host.EmptyTree(at.Real, lostAndFound)
}

// unmountBelow unmounts all mounts in a directory, the inner ones first.
func (m Member) unmountBelow(ctx context.Context, dir string) error {
	mounts, err := m.mounts()
	if err != nil {
		return err
	}
	for _, at := range slices.Backward(mounts) {
		if !strings.HasPrefix(m.Path(at.point), dir+"/") {
			continue
		}
		if err := m.Run(ctx, "umount", at.point); err != nil {
			return &host.Failure{What: "unmount " + at.point, Err: err, Next: "stop the processes that use it, which fuser -vm " + at.point + " lists, then run airgap reset again"}
		}
	}
	return nil
}
