package gpu

import (
	"context"
	"io/fs"
	"strings"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/step"
)

const (
	nouveauFile = "/etc/modprobe.d/airgap-nouveau.conf"
	nouveauText = ours + "# nouveau and NVIDIA's driver cannot use the same GPU.\nblacklist nouveau\noptions nouveau modeset=0\n"
	nouveauUndo = undoDir + "/nouveau.json"
)

// NouveauStep blocks nouveau, the kernel's driver for NVIDIA GPUs, now and at every boot. It returns a
// *RebootError if nouveau is in use, for example by the console.
//
// It does nothing on a host with kernels without nouveau. Undo removes the block.
func NouveauStep(s Setup) step.Step {
	n := nouveau{s}
	return step.Step{
		Name: "nouveau", Title: "Block the nouveau driver",
		Done: n.done, Plan: n.plan, Run: n.off, Undo: n.on,
	}
}

// nouveau is NouveauStep on a host.
type nouveau struct{ Setup }

// nouveauRecord records the work of the step. An image is due if it is older than the creation or the
// removal of nouveauFile.
type nouveauRecord struct {
	Images []string `json:"images"` // kernels with an image
	Due    []string `json:"due"`    // kernels with an image that is due
}

func (n nouveau) done(context.Context) (bool, error) {
	if n.loaded("nouveau") {
		return false, nil
	}
	kernels, err := n.kernels("nouveau")
	if err != nil || len(kernels) == 0 {
		return len(kernels) == 0, err
	}
	record, err := host.ReadJSON[nouveauRecord](n.path(nouveauUndo))
	if err != nil || len(record.Due) > 0 {
		return false, err
	}
	return host.FileMatches(n.path(nouveauFile), []byte(nouveauText), 0o644)
}

func (n nouveau) plan(context.Context) ([]string, error) {
	due, change, err := n.due()
	var changes []string
	if change != "" {
		changes = append(changes, change)
	}
	for _, kernel := range due {
		changes = append(changes, "re-create "+image(kernel))
	}
	if n.loaded("nouveau") {
		changes = append(changes, "unload nouveau, or request a reboot if it is in use")
	}
	return changes, err
}

// due returns the kernels with an initramfs that is older than nouveauFile, and the planned change of
// that file.
func (n nouveau) due() (due []string, change string, err error) {
	if change, err = host.PlanFile(n.path(nouveauFile), []byte(nouveauText), 0o644); err != nil {
		return nil, "", err
	}
	if change != "" {
		due, err = n.imagesWith("nouveau")
		return due, change, err
	}
	record, err := host.ReadJSON[nouveauRecord](n.path(nouveauUndo))
	return record.Due, "", err
}

func (n nouveau) off(ctx context.Context) error {
	due, change, err := n.due()
	if err != nil {
		return err
	}
	record := nouveauRecord{Images: due, Due: due}
	if change != "" {
		if err := host.WriteJSON(n.path(nouveauUndo), record); err != nil {
			return err
		}
		if err := host.WriteFile(n.path(nouveauFile), []byte(nouveauText), 0o644); err != nil {
			return err
		}
	}
	if err := n.makeImages(ctx); err != nil {
		return err
	}
	return n.unload(ctx)
}

// unload unloads nouveau only if it is not in use; the kernel also counts a console as a user.
func (n nouveau) unload(ctx context.Context) error {
	if !n.loaded("nouveau") {
		return nil
	}
	users, err := fs.ReadFile(n.Host.FS(), "sys/module/nouveau/refcnt")
	if err == nil && strings.TrimSpace(string(users)) == "0" {
		err = n.run(ctx, "modprobe", "-r", "nouveau")
		if err == nil && !n.loaded("nouveau") {
			return nil
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return &RebootError{Why: "nouveau is in use; it is blocked from the next boot on"}
}

// on undoes the recorded changes. It does nothing without a record.
func (n nouveau) on(ctx context.Context) error {
	record, err := host.ReadJSON[nouveauRecord](n.path(nouveauUndo))
	if err != nil {
		return err
	}
	holds, err := host.FileMatches(n.path(nouveauFile), []byte(nouveauText), 0o644)
	if err != nil {
		return err
	}
	if holds {
		record.Due = record.Images
		if err := host.WriteJSON(n.path(nouveauUndo), record); err != nil {
			return err
		}
		if err := host.Remove(n.path(nouveauFile)); err != nil {
			return err
		}
	}
	if err := n.makeImages(ctx); err != nil {
		return err
	}
	return host.Remove(n.path(nouveauUndo))
}
