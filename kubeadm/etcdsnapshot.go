package kubeadm

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// Snapshot writes the whole of etcd as one member has it now, in the form that
// etcdutl restores: its database, and the SHA-256 of that. room is told how many
// bytes come before any of them does, and may refuse.
func (e *EtcdMember) Snapshot(ctx context.Context, room func(bytes int64) error, w io.Writer) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	silent := time.AfterFunc(answers, func() { cancel(fmt.Errorf("etcd has sent nothing for %s", answers)) })
	defer silent.Stop()
	err := e.snapshot(ctx, room, w, func() { silent.Reset(answers) })
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = cause
	}
	if err != nil {
		return fmt.Errorf("take a snapshot of etcd: %w", err)
	}
	return nil
}

// snapshotPiece is one of the stream's (api/etcdserverpb/rpc.proto,
// SnapshotResponse). The sum comes last, and is not among the bytes that remain.
type snapshotPiece struct {
	Result struct {
		Remaining int64  `json:"remaining_bytes,string"`
		Blob      []byte `json:"blob"`
	} `json:"result"`
	Error struct {
		Message string `json:"message"`
	} `json:"error"`
}

func (e *EtcdMember) snapshot(ctx context.Context, room func(int64) error, w io.Writer, heard func()) error {
	body, err := e.post(ctx, "/v3/maintenance/snapshot", []byte("{}"))
	if err != nil {
		return err
	}
	defer body.Close()
	pieces := json.NewDecoder(body)
	for first := true; ; first = false {
		var piece snapshotPiece
		err := pieces.Decode(&piece)
		if errors.Is(err, io.EOF) {
			return nil // whether it was the whole is for CheckSnapshot to say
		}
		if err != nil {
			return err
		}
		if piece.Error.Message != "" {
			return errors.New(piece.Error.Message)
		}
		heard()
		if first {
			if err := room(piece.Result.Remaining + int64(len(piece.Result.Blob)) + sha256.Size); err != nil {
				return err
			}
		}
		if _, err := w.Write(piece.Result.Blob); err != nil {
			return err
		}
	}
}

// CheckSnapshot reads a snapshot and compares it with the SHA-256 at its end.
// The database before that is made of whole pages, so that one which was cut
// off can be told (etcdutl/snapshot).
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
		return errors.New("the snapshot of etcd is not what its checksum says")
	}
	return nil
}
