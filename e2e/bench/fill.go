package bench

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// fill compares the filling alone, without the disk's sync and the read-back
// that crane does not do, with `crane pull --format=oci` of the same images;
// and the whole of `airgap bundle`, from an empty directory to a signed stick.
func (b *bench) fill(ctx context.Context, w io.Writer) error {
	var filling []time.Duration
	ours, theirs := filepath.Join(b.Work, "ours"), filepath.Join(b.Work, "theirs")
	a, c, err := pairs(runs, func() (measured, error) {
		if err := os.RemoveAll(ours); err != nil {
			return measured{}, err
		}
		m, err := measure(ctx, b.env, b.Program, "bundle", "-f", b.config, "-o", ours, "--progress", "json", "--output", "json")
		if err == nil {
			filling = append(filling, m.fill())
		}
		return m, err
	}, func() (measured, error) {
		if err := os.RemoveAll(theirs); err != nil {
			return measured{}, err
		}
		return measure(ctx, append(b.env, "SSL_CERT_FILE="+b.Upstream.CA), b.crane, b.craneArgs(theirs)...)
	})
	if err != nil {
		return err
	}
	defer os.RemoveAll(theirs)
	size := treeSize(ours)
	slices.Sort(filling[1:])
	seconds("fill-"+gigabytes(size), filling[1:][runs/2], "crane-pull-oci", c.took, 1.0).print(w)
	seconds("bundle-"+gigabytes(size), a.took, "crane-pull-oci", c.took, 1.0).print(w)
	figure{"bundle-peak-rss", float64(a.peak) / 1e6, "MB", "limit=150MB", float64(a.peak) / 150e6, 1.0}.print(w)
	return nil
}

func (b *bench) craneArgs(dir string) []string {
	args := []string{"pull", "--format=oci", "--platform=linux/amd64"}
	mirror := strings.TrimPrefix(b.Upstream.URL, "https://")
	for _, i := range b.images {
		args = append(args, mirror+"/"+i)
	}
	return append(args, dir)
}

func treeSize(dir string) int64 {
	var total int64
	_ = filepath.Walk(dir, func(_ string, info os.FileInfo, err error) error {
		if err == nil && info.Mode().IsRegular() {
			total += info.Size()
		}
		return nil
	})
	return total
}

func gigabytes(n int64) string { return fmt.Sprintf("%.1fGB", float64(n)/1e9) }
