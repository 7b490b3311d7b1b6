package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"airgap.dev/airgap/e2e/scenario"
	"airgap.dev/airgap/e2e/upstream"
)

// fill makes two comparisons, in seconds a gigabyte, since airgap's result has RPMs and
// the runtime as well. The first is the fill phase against `crane pull --format=oci` of
// the same images. The second is all of `airgap bundle`, from an empty directory to a
// signed and verified bundle, against crane, sync and sha256sum of its output. Before each
// run, all served files are read into the page cache, because the sha256sum run drops it.
func (b *bench) fill(ctx context.Context, w *figures) error {
	var fills []time.Duration
	ours, theirs := b.ours(), filepath.Join(b.Work, "theirs")
	m, err := rounds(func() (measured, error) {
		m, err := b.bundle(ctx)
		if err == nil {
			fills = append(fills, m.fill())
		}
		return m, err
	}, func() (measured, error) {
		return b.cranePull(ctx, theirs, `exec "$@"`)
	}, func() (measured, error) {
		return b.cranePull(ctx, theirs, `"$@" && sync -f "$0" && echo 1 >/proc/sys/vm/drop_caches && find "$0" -type f -exec sha256sum {} + >/dev/null`)
	})
	if err != nil {
		return err
	}
	size, theirSize := scenario.TreeSize(ours, "bundle.tar.*"), scenario.TreeSize(theirs, "*")
	if err := os.RemoveAll(theirs); err != nil {
		return err
	}
	slices.Sort(fills[1:])
	perGB("fill-"+gigabytes(size), fills[1:][runs/2], size, "crane-pull-oci", m[1].took, theirSize, 1.0).print(w)
	perGB("bundle-"+gigabytes(size), m[0].took, size, "crane-sync-sha256sum", m[2].took, theirSize, 1.0).print(w)
	resident("bundle-peak-rss", m[0]).print(w)
	return b.fixedCost(w, size)
}

// fixedCost measures the size of the content that each bundle has in addition to the
// content of its configuration: the files other than the parts, and the image of
// airgap-probe. parts is the size of the parts, in bytes.
func (b *bench) fixedCost(w *figures, parts int64) error {
	locked, err := b.locked()
	if err != nil {
		return err
	}
	cost := scenario.TreeSize(b.ours(), "*") - parts
	for _, i := range locked {
		if !strings.HasPrefix(i.Name, probeImage) {
			continue
		}
		for _, blob := range i.Blobs {
			cost += blob.Size
		}
	}
	const limit = 130e6
	figure{"bundle-fixed-cost", float64(cost) / 1e6, "MB", "limit=130MB", float64(cost) / limit, 1.0}.print(w)
	return nil
}

func (b *bench) ours() string { return filepath.Join(b.Work, "ours") }

func (b *bench) bundle(ctx context.Context) (measured, error) {
	if err := errors.Join(os.RemoveAll(b.ours()), upstream.WarmPageCache(b.Cache)); err != nil {
		return measured{}, err
	}
	return measure(ctx, b.env, b.Program, "bundle", "-f", b.config, "-o", b.ours(), "--new-keys", "--progress", "json", "--output", "json")
}

// bundleOnce makes the bundle and prints no figure.
func (b *bench) bundleOnce(ctx context.Context, _ *figures) error {
	_, err := b.bundle(ctx)
	return err
}

// cranePull runs a shell script in which "$@" is the crane command and "$0" its directory.
func (b *bench) cranePull(ctx context.Context, dir, script string) (measured, error) {
	if err := errors.Join(os.RemoveAll(dir), upstream.WarmPageCache(b.Cache)); err != nil {
		return measured{}, err
	}
	args := append([]string{"-c", script, dir, b.crane}, b.craneArgs(dir)...)
	return measure(ctx, append(b.env, "SSL_CERT_FILE="+b.Upstream.CA), "sh", args...)
}

func (b *bench) craneArgs(dir string) []string {
	args := []string{"pull", "--format=oci", "--platform=linux/amd64"}
	mirror := strings.TrimPrefix(b.Upstream.URL, "https://")
	for _, i := range b.images {
		args = append(args, mirror+"/"+i)
	}
	return append(args, dir)
}

func gigabytes(n int64) string { return fmt.Sprintf("%.1fGB", float64(n)/1e9) }
