package gpu

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"airgap.dev/airgap/internal/host"
)

// image returns the path of a kernel's initramfs on EL (dracut(8)).
func image(kernel string) string { return "/boot/initramfs-" + kernel + ".img" }

// imagesWith returns the kernels that have the module and an initramfs. The host may boot any of them.
func (n nouveau) imagesWith(module string) ([]string, error) {
	kernels, err := n.kernels(module)
	return slices.DeleteFunc(kernels, func(kernel string) bool { return !n.hasImage(kernel) }), err
}

func (n nouveau) hasImage(kernel string) bool {
	_, err := fs.Stat(n.Host.FS(), strings.TrimPrefix(image(kernel), "/"))
	return err == nil
}

// makeImages re-creates the images in record.Due, and records each. It skips removed kernels.
func (n nouveau) makeImages(ctx context.Context) error {
	record, err := host.ReadJSON[nouveauRecord](n.path(nouveauUndo))
	if err != nil {
		return err
	}
	for len(record.Due) > 0 {
		kernel := record.Due[0]
		if n.hasImage(kernel) {
			if err := n.makeImage(ctx, kernel); err != nil {
				return fmt.Errorf("re-create %s: %w", image(kernel), err)
			}
		}
		record.Due = record.Due[1:]
		if err := host.WriteJSON(n.path(nouveauUndo), record); err != nil {
			return err
		}
	}
	return nil
}

// makeImage creates the image under a temporary name, and renames it when it is complete and on disk:
// without a valid image the host does not boot.
func (n nouveau) makeImage(ctx context.Context, kernel string) error {
	place := n.path(image(kernel))
	draft := host.Draft(place)
	if err := n.run(ctx, "dracut", "--force", draft, kernel); err != nil {
		return errors.Join(err, host.IgnoreMissing(os.Remove(draft)))
	}
	if err := syncFile(draft); err != nil {
		return err
	}
	if err := os.Rename(draft, place); err != nil {
		return err
	}
	return host.SyncDir(filepath.Dir(place))
}

func syncFile(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}
