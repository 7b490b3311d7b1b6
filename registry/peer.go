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

// Files are the files of a bundle in another host's store, for bundle.OpenFS, by
// the bundle's name, which means the newest of that name, or its ID. They are
// asked for in pieces, so a copy that was cut goes on.
func (c *Client) Files(ctx context.Context, bundle string) fs.FS {
	return peer{ctx: ctx, client: c, path: "/bundles/" + bundle + "/"}
}

// View opens the bundle called name in another host's store, with those that it
// leaves something to, for this host's store to be filled from.
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
	v, err := over(top, all)
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

// Open asks for the file's size alone.
func (p peer) Open(name string) (fs.File, error) {
	resp, err := p.client.do(p.ctx, http.MethodHead, p.path+name, "")
	if err == nil {
		err = errors.Join(answered(resp, http.StatusOK), resp.Body.Close())
		if resp.StatusCode == http.StatusInternalServerError { // the answer to GET says why
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

// answered is fs.ErrNotExist for what is not there.
func answered(resp *http.Response, want int) error {
	switch resp.StatusCode {
	case want:
		return nil
	case http.StatusNotFound:
		return fs.ErrNotExist
	}
	return errors.New(resp.Status)
}

// peerFile reads in order and at any place.
type peerFile struct {
	*io.SectionReader

	peer peer
	name string
	size int64
}

func (f *peerFile) Close() error               { return nil }
func (f *peerFile) Stat() (fs.FileInfo, error) { return f, nil }

// It is its own fs.FileInfo.

func (f *peerFile) Name() string       { return f.name }
func (f *peerFile) Size() int64        { return f.size }
func (f *peerFile) Mode() fs.FileMode  { return 0o444 }
func (f *peerFile) ModTime() time.Time { return time.Time{} }
func (f *peerFile) IsDir() bool        { return false }
func (f *peerFile) Sys() any           { return nil }

type pieces struct{ *peerFile }

func (f *peerFile) pieces() io.ReaderAt { return pieces{f} }

// attempts is how often a piece is asked for before the copy is given up.
const attempts = 3

func (p pieces) ReadAt(buf []byte, off int64) (n int, err error) {
	for i := range attempts {
		if i > 0 {
			time.Sleep(time.Second)
		}
		if n, err = p.once(buf, off); err == nil || p.peer.ctx.Err() != nil || errors.Is(err, bundle.ErrDamaged) {
			return n, err
		}
	}
	return n, fmt.Errorf("read %s of %s: %w", p.name, p.peer.client.base, err)
}

func (p pieces) once(buf []byte, off int64) (int, error) {
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
		return 0, p.refused(resp)
	}
	if err := answered(resp, http.StatusPartialContent); err != nil {
		return 0, err
	}
	return io.ReadFull(resp.Body, buf)
}

// refused is what the other registry found when it read the piece.
func (p pieces) refused(resp *http.Response) error {
	var said refusal
	if json.NewDecoder(io.LimitReader(resp.Body, 64<<10)).Decode(&said) != nil || said.Damage == nil {
		return errors.New(resp.Status)
	}
	d := said.Damage
	return &bundle.DamageError{Bundle: d.Bundle, Part: d.Part, Chunk: d.Chunk, Path: d.Path, Cause: "the registry at " + p.peer.client.Addr() + " finds that it is not what was signed"}
}
