package etcd

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// Snapshot writes the whole of etcd as one member has it now, in the form that
// etcdutl restores: its database, and the SHA-256 of that. room is called with the number
// of bytes before any of them comes, and may refuse.
func (c *Client) Snapshot(ctx context.Context, room func(bytes int64) error, w io.Writer) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	silent := time.AfterFunc(limit, func() { cancel(fmt.Errorf("etcd has sent nothing for %s", limit)) })
	defer silent.Stop()
	err := c.connected(ctx, func(ctx context.Context, client *clientv3.Client) error {
		return stream(ctx, client, room, w, func() { silent.Reset(limit) })
	})
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = cause
	}
	if err != nil {
		return fmt.Errorf("take a snapshot of etcd: %w", err)
	}
	return nil
}

// stream reads the stream itself: etcd's client library does not say how many bytes
// are to come. The sum comes last, and is not among the bytes that remain.
func stream(ctx context.Context, client *clientv3.Client, room func(int64) error, w io.Writer, heard func()) error {
	pieces, err := pb.NewMaintenanceClient(client.ActiveConnection()).Snapshot(ctx, &pb.SnapshotRequest{})
	if err != nil {
		return err
	}
	for first := true; ; first = false {
		piece, err := pieces.Recv()
		if errors.Is(err, io.EOF) {
			return nil // whether it was the whole is for CheckSnapshot to say
		}
		if err != nil {
			return err
		}
		heard()
		if first {
			if err := room(int64(piece.RemainingBytes) + int64(len(piece.Blob)) + sha256.Size); err != nil {
				return err
			}
		}
		if _, err := w.Write(piece.Blob); err != nil {
			return err
		}
	}
}

// CheckSnapshot reads a snapshot and compares it with the SHA-256 at its end.
// The database before that has whole pages, so that a truncated one can be
// detected (etcdutl/snapshot).
func CheckSnapshot(r io.Reader, size int64) error {
	if size%512 != sha256.Size {
		return fmt.Errorf("a snapshot of etcd does not have %d bytes: it is cut off", size)
	}
	sum, want := sha256.New(), make([]byte, sha256.Size)
	if _, err := io.CopyN(sum, r, size-sha256.Size); err != nil {
		return err
	}
	if _, err := io.ReadFull(r, want); err != nil {
		return err
	}
	if string(sum.Sum(nil)) != string(want) {
		return errors.New("the etcd snapshot does not match its checksum")
	}
	return nil
}
