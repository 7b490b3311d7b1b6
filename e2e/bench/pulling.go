package bench

import (
	"bufio"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"golang.org/x/sys/unix"

	"airgap.dev/airgap/e2e/freeport"
	"airgap.dev/airgap/e2e/scenario"
)

// loopback is the address of all measured servers.
var loopback = netip.MustParseAddr("127.0.0.1")

// server is a running registry.
type server struct {
	addr string
	cmd  *exec.Cmd
}

// pulling measures how fast 1, 8 and 64 parallel clients pull layers, compared with
// registry:3 with the same images. It also compares a bundle that is served in place with a
// copy, and measures the memory that 64 slow clients cost.
func (b *bench) pulling(ctx context.Context, w *figures) error {
	pki := filepath.Join(b.Work, "pki")
	pem, err := scenario.SelfSigned(ctx, pki, loopback)
	if err != nil {
		return err
	}
	port, err := freeport.Next()
	if err != nil {
		return err
	}
	addr := netip.AddrPortFrom(loopback, uint16(port))
	peer, err := scenario.NewRegistry3(ctx, b.Env, filepath.Join(b.Work, "registry3"), addr)
	if err != nil {
		return err
	}
	transport := trusting(pem, peer.CA)
	ours, err := b.serve(ctx, transport, b.ours(), pki)
	if err != nil {
		return err
	}
	defer ours.end()
	theirs := &server{addr: addr.String(), cmd: exec.CommandContext(ctx, peer.Argv[0], peer.Argv[1:]...)}
	if err := b.start(ctx, transport, theirs); err != nil {
		return err
	}
	defer theirs.end()
	layers, err := b.mirror(ctx, transport, ours, theirs)
	if err != nil {
		return err
	}
	for _, clients := range []int{1, 8, 64} {
		m, err := rounds(ours.pull(ctx, transport, layers, clients), theirs.pull(ctx, transport, layers, clients))
		if err != nil {
			return err
		}
		size := layers.size
		perGB(fmt.Sprintf("pull-%d-clients", clients), m[0].took, size, "registry:3", m[1].took, size, 1.0).print(w)
	}
	if err := b.inPlace(ctx, w, transport, ours, layers, pki); err != nil {
		return err
	}
	return b.slowly(ctx, w, transport, layers, pki)
}

// inPlace compares a bundle that is a link in the store with the same bundle as a copy in the
// store. Both are verified at every read, so they should cost the same. The cost of the verification
// itself is part of the pulls next to registry:3, which does not verify. The figure is the CPU time
// of the registry and its clients together, since the time over a network would hide it. It
// is the sum of many rounds, since the difference is small. The clients compute the SHA-256
// of the layers, as every container runtime does.
func (b *bench) inPlace(ctx context.Context, w *figures, rt http.RoundTripper, copied *server, l layers, pki string) error {
	links := filepath.Join(b.Work, "links")
	err := errors.Join(os.RemoveAll(links), os.Mkdir(links, 0o755))
	if err == nil {
		err = os.Symlink(filepath.Join(b.ours(), "bank"), filepath.Join(links, "bank"))
	}
	if err != nil {
		return err
	}
	linked, err := b.serve(ctx, rt, links, pki)
	if err != nil {
		return err
	}
	defer linked.end()
	l.hashed = true
	const clients, pulls = 8, 40
	var work [2]time.Duration
	for round := range pulls + 1 {
		for i, s := range []*server{linked, copied} {
			began, err := s.work()
			if err == nil {
				_, err = s.pull(ctx, rt, l, clients)()
			}
			if err != nil {
				return err
			}
			ended, err := s.work()
			if err != nil {
				return err
			}
			if round > 0 { // the first round also computes the signed SHA-256
				work[i] += ended - began
			}
		}
	}
	perGB(fmt.Sprintf("pull-in-place-%d-clients", clients), work[0], pulls*l.size, "store-copy", work[1], pulls*l.size, 1.05).print(w)
	return nil
}

// slowly measures the peak memory with 64 clients that read 32 KiB a second each.
func (b *bench) slowly(ctx context.Context, w *figures, rt http.RoundTripper, l layers, pki string) error {
	s, err := b.serve(ctx, rt, b.ours(), pki)
	if err != nil {
		return err
	}
	defer s.end()
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	var clients sync.WaitGroup
	for i := range 64 {
		clients.Go(func() {
			resp, err := get(ctx, rt, s.addr, l.paths[i%len(l.paths)])
			if err != nil {
				return
			}
			defer resp.Body.Close()
			for err == nil {
				_, err = io.CopyN(io.Discard, resp.Body, 32<<10)
				time.Sleep(time.Second)
			}
		})
	}
	clients.Wait()
	peak, err := s.peak()
	if err != nil {
		return err
	}
	resident("serve-64-slow-clients-peak-rss", measured{peak: peak}).print(w)
	return nil
}

// layers are the pulled blobs: the paths of large layers, the same in both registries.
type layers struct {
	paths  []string
	size   int64 // of all layers, bytes
	hashed bool  // clients compute the SHA-256 of the pieces
}

// mirror pushes the images of one registry to the other, and returns their layers.
func (b *bench) mirror(ctx context.Context, rt http.RoundTripper, from, to *server) (layers, error) {
	var all layers
	for _, image := range b.images {
		source, err := name.ParseReference(from.addr + "/" + image)
		if err != nil {
			return all, err
		}
		target, err := name.ParseReference(to.addr + "/" + image)
		if err != nil {
			return all, err
		}
		options := []remote.Option{remote.WithContext(ctx), remote.WithTransport(rt), remote.WithPlatform(v1.Platform{OS: "linux", Architecture: "amd64"})}
		held, err := remote.Image(source, options...)
		if err != nil {
			return all, err
		}
		tag, err := name.NewTag(strings.SplitN(target.Name(), "@", 2)[0])
		if err != nil {
			return all, err
		}
		if err := remote.Write(tag, held, options...); err != nil {
			return all, fmt.Errorf("push %s to registry:3: %w", image, err)
		}
		m, err := held.Manifest()
		if err != nil {
			return all, err
		}
		for _, layer := range m.Layers {
			path := fmt.Sprintf("/v2/%s/blobs/%s", source.Context().RepositoryStr(), layer.Digest)
			if layer.Size < 1<<20 || slices.Contains(all.paths, path) {
				continue
			}
			all.paths, all.size = append(all.paths, path), all.size+layer.Size
		}
	}
	return all, nil
}

// pull returns a function in which parallel clients read every layer once.
func (s *server) pull(ctx context.Context, rt http.RoundTripper, l layers, clients int) func() (measured, error) {
	return func() (measured, error) {
		var next atomic.Int64
		var group sync.WaitGroup
		errs := make([]error, clients)
		began := time.Now()
		for c := range clients {
			group.Go(func() {
				// Layers are few and large: clients request pieces, so that all clients work
				// until the end.
				for errs[c] == nil {
					i := int(next.Add(1) - 1)
					if i >= len(l.paths)*pieces {
						return
					}
					to := io.Discard
					if l.hashed {
						to = sha256.New()
					}
					errs[c] = take(ctx, rt, s.addr, l.paths[i/pieces], i%pieces, to)
				}
			})
		}
		group.Wait()
		return measured{took: time.Since(began)}, errors.Join(errs...)
	}
}

// pieces is the number of ranges in which clients request a layer.
const pieces = 16

func take(ctx context.Context, rt http.RoundTripper, addr, path string, piece int, to io.Writer) error {
	size, err := length(ctx, rt, addr, path)
	if err != nil {
		return err
	}
	from, last := size*int64(piece)/pieces, size*int64(piece+1)/pieces-1
	resp, err := get(ctx, rt, addr, path, "Range", fmt.Sprintf("bytes=%d-%d", from, last))
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	n, err := io.Copy(to, resp.Body)
	if err == nil && n != last-from+1 {
		err = fmt.Errorf("read %s: got %d bytes, want %d", path, n, last-from+1)
	}
	return err
}

func length(ctx context.Context, rt http.RoundTripper, addr, path string) (int64, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodHead, "https://"+addr+path, nil)
	if err != nil {
		return 0, err
	}
	resp, err := rt.RoundTrip(req)
	if err != nil {
		return 0, err
	}
	return resp.ContentLength, resp.Body.Close()
}

func get(ctx context.Context, rt http.RoundTripper, addr, path string, header ...string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+addr+path, nil)
	if err != nil {
		return nil, err
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := rt.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode >= 300 {
		return nil, errors.Join(fmt.Errorf("get %s: %s", path, resp.Status), resp.Body.Close())
	}
	return resp, nil
}

// serve starts airgap's registry with a store. Without more flags it accepts no pushes.
func (b *bench) serve(ctx context.Context, rt http.RoundTripper, store, pki string, more ...string) (*server, error) {
	number, err := freeport.Next()
	if err != nil {
		return nil, err
	}
	port := strconv.Itoa(number)
	args := append([]string{"registry", "serve", "--store", store, "--pki", pki, "--port", port, "--pushed", ""}, more...)
	s := &server{addr: net.JoinHostPort(loopback.String(), port), cmd: exec.CommandContext(ctx, b.Program, args...)}
	s.cmd.Env = append(os.Environ(), append(b.env, "GODEBUG=fips140=on")...) // as in its systemd unit
	return s, b.start(ctx, rt, s)
}

func (b *bench) start(ctx context.Context, rt http.RoundTripper, s *server) error {
	s.cmd.Cancel = func() error { return s.cmd.Process.Signal(syscall.SIGTERM) }
	if err := s.cmd.Start(); err != nil {
		return err
	}
	limited, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if err := b.answering(limited, rt, s.addr); err != nil {
		s.end()
		return err
	}
	return nil
}

// end stops the registry.
func (s *server) end() {
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	_ = s.cmd.Wait() // stopped by the signal
}

// work returns the CPU time so far of the registry and of this process, its client.
func (s *server) work() (time.Duration, error) {
	var sum time.Duration
	for _, pid := range []int{s.cmd.Process.Pid, os.Getpid()} {
		var t unix.Timespec
		if err := unix.ClockGettime(int32(^pid)<<3|2, &t); err != nil { // CPUCLOCK_SCHED of a process, see clock_getcpuclockid(3)
			return 0, fmt.Errorf("read the CPU time of process %d: %w", pid, err)
		}
		sum += time.Duration(t.Nano())
	}
	return sum, nil
}

// peak returns the peak resident memory of the registry, in bytes.
func (s *server) peak() (int64, error) {
	f, err := os.Open(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if value, ok := strings.CutPrefix(lines.Text(), "VmHWM:"); ok {
			kib, err := strconv.ParseInt(strings.Fields(value)[0], 10, 64)
			return kib << 10, err
		}
	}
	return 0, errors.New("read the peak memory of the registry: /proc/PID/status has no VmHWM")
}
