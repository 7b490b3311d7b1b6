package registry

import (
	"context"
	"crypto/ecdsa"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"time"

	"airgap.dev/airgap/bundle"
)

// Files returns the files of a bundle in another host's store, for bundle.OpenFS. bundle is a name, for
// the newest bundle of that name, or an ID. The files are read in pieces, so that a copy continues
// after an interruption.
func (c *Client) Files(ctx context.Context, bundle string) fs.FS {
	return peer{ctx: ctx, client: c, path: "/bundles/" + bundle + "/"}
}

// View opens the bundle name in another host's store, with its base bundles, so that this host's store
// can copy them.
func (c *Client) View(ctx context.Context, name string, trusted ...*ecdsa.PublicKey) (*bundle.View, error) {
	open := func(name, key string) (*bundle.Bundle, error) {
		return bundle.OpenFS(c.Files(ctx, key), name+" at "+c.Addr(), trusted...)
	}
	top, err := open(name, name)
	if err != nil {
		return nil, err
	}
	if !top.Index().IsDelta() {
		return bundle.NewView(top), nil
	}
	health, err := c.Health(ctx)
	if err != nil {
		return nil, errors.Join(err, top.Close())
	}
	all, broken := []*bundle.Bundle{top}, []error(nil)
	for _, served := range health.Bundles {
		if served.ID == top.ID() {
			continue
		}
		b, err := open(served.Name, served.ID)
		if err != nil {
			broken = append(broken, err)
			continue
		}
		all = append(all, b)
	}
	v, err := viewOf(top, all)
	if err != nil {
		return nil, errors.Join(append([]error{err}, broken...)...)
	}
	return v, nil
}

type peer struct {
	ctx    context.Context
	client *Client
	path   string
}

// Open gets only the size of the file.
func (p peer) Open(name string) (fs.File, error) {
	resp, err := p.client.do(p.ctx, http.MethodHead, p.path+name, "")
	if err == nil {
		err = errors.Join(checkStatus(resp, http.StatusOK), resp.Body.Close())
		if resp.StatusCode == http.StatusInternalServerError { // the answer to GET contains the cause
			f := &peerFile{peer: p, name: name}
			_, err = f.pieces().ReadAt(make([]byte, 1), 0)
		}
	}
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: p.client.base + p.path + name, Err: err}
	}
	f := &peerFile{peer: p, name: name, size: resp.ContentLength}
	f.SectionReader = io.NewSectionReader(f.pieces(), 0, f.size)
	return f, nil
}

// checkStatus returns fs.ErrNotExist for 404, and an error for other statuses than want.
func checkStatus(resp *http.Response, want int) error {
	switch resp.StatusCode {
	case want:
		return nil
	case http.StatusNotFound:
		return fs.ErrNotExist
	}
	return errors.New(resp.Status)
}

// peerFile reads sequentially and at any offset.
type peerFile struct {
	*io.SectionReader

	peer peer
	name string
	size int64
}

func (f *peerFile) Close() error               { return nil }
func (f *peerFile) Stat() (fs.FileInfo, error) { return f, nil }

// These methods implement fs.FileInfo.

func (f *peerFile) Name() string       { return f.name }
func (f *peerFile) Size() int64        { return f.size }
func (f *peerFile) Mode() fs.FileMode  { return 0o444 }
func (f *peerFile) ModTime() time.Time { return time.Time{} }
func (f *peerFile) IsDir() bool        { return false }
func (f *peerFile) Sys() any           { return nil }

type pieces struct{ *peerFile }

func (f *peerFile) pieces() io.ReaderAt { return pieces{f} }

// attempts is the number of requests for a piece before the copy fails.
const attempts = 3

func (p pieces) ReadAt(buf []byte, off int64) (n int, err error) {
	for i := range attempts {
		if i > 0 {
			time.Sleep(time.Second)
		}
		if n, err = p.readOnce(buf, off); err == nil || p.peer.ctx.Err() != nil || errors.Is(err, bundle.ErrDamaged) {
			return n, err
		}
	}
	return n, fmt.Errorf("read %s of %s: %w", p.name, p.peer.client.base, err)
}

func (p pieces) readOnce(buf []byte, off int64) (int, error) {
	req, err := http.NewRequestWithContext(p.peer.ctx, http.MethodGet, p.peer.client.base+p.peer.path+p.name, nil)
	if err != nil {
		return 0, err
	}
	req.Header.Set("Range", fmt.Sprintf("bytes=%d-%d", off, off+int64(len(buf))-1))
	resp, err := p.peer.client.http.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusInternalServerError {
		return 0, p.damageError(resp)
	}
	if err := checkStatus(resp, http.StatusPartialContent); err != nil {
		return 0, err
	}
	return io.ReadFull(resp.Body, buf)
}

// damageError returns the error that the other registry found when it read the piece.
func (p pieces) damageError(resp *http.Response) error {
	var answer refusal
	if json.NewDecoder(io.LimitReader(resp.Body, 64<<10)).Decode(&answer) != nil || answer.Damage == nil {
		return errors.New(resp.Status)
	}
	d := answer.Damage
	return &bundle.DamageError{Bundle: d.Bundle, Part: d.Part, Chunk: d.Chunk, Path: d.Path, Cause: "the registry at " + p.peer.client.Addr() + " reports that it does not match its signed hash"}
}
