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
	nouveauText = ours + "# nouveau and NVIDIA's driver cannot have the same card.\nblacklist nouveau\noptions nouveau modeset=0\n"
	nouveauUndo = undoDir + "/nouveau.json"
)

// NouveauStep keeps nouveau, the kernel's own driver, off the cards, now and at
// every boot. It ends with a *RebootError where nouveau is in use: it has the
// console, and nobody takes that from it.
//
// A host whose kernels have no nouveau has nothing to keep off. Undo lets it have
// the cards again.
func NouveauStep(s Setup) step.Step {
	n := nouveau{s}
	return step.Step{
		Name: "nouveau", Title: "Keep nouveau off the GPUs",
		Done: n.done, Plan: n.plan, Run: n.off, Undo: n.on,
	}
}

// nouveau is a host on which nouveau is to leave the cards alone.
type nouveau struct{ Setup }

// nouveauRecord is what was done for it. An image that is due was made before the
// file came, or went.
type nouveauRecord struct {
	Images []string `json:"images"` // by kernel
	Due    []string `json:"due"`    // of these
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
	return host.Holds(n.path(nouveauFile), []byte(nouveauText), 0o644)
}

func (n nouveau) plan(context.Context) ([]string, error) {
	due, change, err := n.due()
	var changes []string
	if change != "" {
		changes = append(changes, change)
	}
	for _, kernel := range due {
		changes = append(changes, "make "+image(kernel)+" anew")
	}
	if n.loaded("nouveau") {
		changes = append(changes, "unload nouveau, or ask for a reboot where it is in use")
	}
	return changes, err
}

// due are the kernels whose initramfs is older than the file, and what is to
// be done about the file.
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

// unload tries only where nobody uses it: the kernel counts a console, too.
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
	return &RebootError{Why: "nouveau has the GPUs and is in use; it is kept off from the next boot on"}
}

// on takes back what the record says, and nothing without one.
func (n nouveau) on(ctx context.Context) error {
	record, err := host.ReadJSON[nouveauRecord](n.path(nouveauUndo))
	if err != nil {
		return err
	}
	holds, err := host.Holds(n.path(nouveauFile), []byte(nouveauText), 0o644)
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
