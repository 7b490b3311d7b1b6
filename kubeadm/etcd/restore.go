package etcd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"go.etcd.io/etcd/etcdutl/v3/snapshot"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/ui"
)

// revisionBump is how far an etcd that is restored now is ahead of its snapshot's
// revision. Clients of the old etcd, such as kubelets on surviving hosts, keep the
// revisions that they saw and watch from there. In an etcd with older revisions they would
// wait for past revisions. So the revision jumps over all possible writes
// after the snapshot, and older revisions count as compacted: a watch from there
// ends with "too old", and its client lists everything again.
//
// etcd's documentation has a thousand million (op-guide/recovery; etcd#16028), which
// is enough for eleven days of a thousand writes a second. Those of every second
// since airgap began come on top: so an older snapshot also works, and a snapshot
// restored twice is ahead of the writes between.
func revisionBump(now time.Time) uint64 {
	const documented = 1_000_000_000
	began := time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)
	return documented + uint64(max(0, now.Sub(began).Milliseconds())) // one a millisecond
}

// writeAheadLog, in bytes, is the size that etcd allocates for its log.
const writeAheadLog = 64 << 20

// SnapshotInfo has the properties of an etcd snapshot.
type SnapshotInfo struct {
	Bytes    int64 `json:"bytes"`
	Revision int64 `json:"revision"`
	Keys     int   `json:"keys"`
}

// ReadSnapshot reads the whole of a snapshot's file: its checksum, then the pages
// and entries of the database.
func ReadSnapshot(file string) (SnapshotInfo, error) {
	info, err := readSnapshot(file)
	if err != nil {
		return info, fmt.Errorf("read the snapshot of etcd in %s: %w", file, err)
	}
	return info, nil
}

func readSnapshot(file string) (info SnapshotInfo, err error) {
	f, err := os.Open(file)
	if err != nil {
		return info, err
	}
	defer f.Close()
	stat, err := f.Stat()
	if err != nil {
		return info, err
	}
	if err := CheckSnapshot(f, stat.Size()); err != nil {
		return info, err
	}
	err = noPanic(func(m snapshot.Manager) error {
		status, err := m.Status(file)
		info = SnapshotInfo{Bytes: stat.Size(), Revision: status.Revision, Keys: status.TotalKey}
		return err
	})
	return info, err
}

// Restore makes the data of a new etcd out of a snapshot's file, in dataDir,
// which must have no data: one member of that name, with that peer URL
// (https://ADDRESS:2380), and none of those that the old etcd had. The revision is
// ahead of the snapshot's. The data appears at once and durably, or not at all;
// files of an interrupted run are replaced.
func Restore(ctx context.Context, file, dataDir, name, peerURL string) error {
	if err := restore(ctx, file, dataDir, name, peerURL); err != nil {
		return fmt.Errorf("restore etcd's data to %s: %w", dataDir, err)
	}
	return nil
}

func restore(ctx context.Context, file, dataDir, name, peerURL string) error {
	member, draft := filepath.Join(dataDir, "member"), filepath.Join(dataDir, Draft)
	if _, err := os.Lstat(member); err == nil {
		return fmt.Errorf("%s is there already", member)
	}
	if err := errors.Join(ctx.Err(), host.RemoveTree(draft), os.MkdirAll(dataDir, 0o700)); err != nil {
		return err
	}
	if err := roomFor(file, dataDir); err != nil {
		return err
	}
	err := noPanic(func(m snapshot.Manager) error {
		return m.Restore(snapshot.RestoreConfig{
			SnapshotPath: file, OutputDataDir: draft,
			Name: name, PeerURLs: []string{peerURL}, InitialCluster: name + "=" + peerURL, InitialClusterToken: "etcd-cluster",
			RevisionBump: revisionBump(time.Now()), MarkCompacted: true,
		})
	})
	if err != nil {
		return errors.Join(err, host.RemoveTree(draft))
	}
	if err := host.Sync(); err != nil {
		return err
	}
	if err := os.Rename(filepath.Join(draft, "member"), member); err != nil {
		return err
	}
	return errors.Join(os.Remove(draft), host.SyncDir(dataDir))
}

// Draft is the directory, in that of the data, in which new data is made. That
// of the data itself need not be empty: a file system has its lost+found there.
const Draft = ".airgap-restoring"

// RestoreTakes are the bytes that have to be free for a snapshot of so many to be
// restored: without room etcd's library ends the program.
func RestoreTakes(snapshot int64) int64 { return 2*snapshot + 2*writeAheadLog }

func roomFor(file, dir string) error {
	info, err := os.Stat(file)
	if err != nil {
		return err
	}
	free, err := host.FreeSpace(dir)
	if err != nil {
		return err
	}
	if need := RestoreTakes(info.Size()); free < need {
		return fmt.Errorf("%s are free, and a snapshot of %s takes %s", ui.Size(free), ui.Size(info.Size()), ui.Size(need))
	}
	return nil
}

// noPanic calls etcd's library, which logs, and panics where its own program would
// end.
func noPanic(work func(snapshot.Manager) error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("etcd's library: %v", r)
		}
	}()
	return work(snapshot.NewV3(zap.NewNop().WithOptions(zap.WithFatalHook(zapcore.WriteThenPanic))))
}
