package gpu

import (
	"errors"
	"slices"
	"testing"
)

const nouveauDep = "kernel/drivers/gpu/drm/nouveau/nouveau.ko.xz: kernel/drivers/gpu/drm/ttm/ttm.ko.xz\n"

// withNouveau returns a host with nouveau for two kernels.
func withNouveau(t *testing.T) (*machine, Setup) {
	m, s := newMachine(t)
	m.put(t, "lib/modules/5.14.0-1.el9.x86_64/modules.dep", nouveauDep)
	m.put(t, "lib/modules/5.14.0-2.el9.x86_64/modules.dep", "kernel/fs/ext4/ext4.ko.xz:\n"+nouveauDep)
	m.put(t, "lib/modules/5.14.0-3.el9.x86_64/modules.dep", "kernel/fs/ext4/ext4.ko.xz:\n")
	for _, kernel := range []string{"1", "2", "3"} {
		m.put(t, "boot/initramfs-5.14.0-"+kernel+".el9.x86_64.img", "an image")
	}
	for _, kernel := range []string{"1", "2"} {
		draft := "boot/.initramfs-5.14.0-" + kernel + ".el9.x86_64.img.airgap-new"
		m.does("dracut --force /"+draft, func() { m.put(t, draft, "one of "+kernel) })
	}
	return m, s
}

// dracut returns the command that creates a kernel's image under a temporary name.
func dracut(kernel string) string {
	return "dracut --force /boot/.initramfs-" + kernel + ".img.airgap-new " + kernel
}

func TestNouveauIsKeptOff(t *testing.T) {
	m, s := withNouveau(t)
	before := m.files(t)
	st := NouveauStep(s)
	holds(t, st.Done, false)
	want := []string{"write " + s.path(nouveauFile) + " (new)", "re-create /boot/initramfs-5.14.0-1.el9.x86_64.img", "re-create /boot/initramfs-5.14.0-2.el9.x86_64.img"}
	if plan, err := st.Plan(t.Context()); err != nil || !slices.Equal(plan, want) {
		t.Errorf("plan %q, %v", plan, err)
	}
	if err := st.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	holds(t, st.Done, true)
	made := []string{dracut("5.14.0-1.el9.x86_64"), dracut("5.14.0-2.el9.x86_64")}
	if got := m.ran("dracut"); !slices.Equal(got, made) {
		t.Errorf("ran %q", got)
	}
	if got := m.get("boot/initramfs-5.14.0-2.el9.x86_64.img"); got != "one of 2" {
		t.Errorf("the image is %q", got)
	}

	m.remove(t, "boot/initramfs-5.14.0-1.el9.x86_64.img") // a removed kernel
	before = slices.DeleteFunc(before, func(name string) bool { return name == "boot/initramfs-5.14.0-1.el9.x86_64.img" })
	for range 2 { // the second run has nothing to do
		if err := st.Undo(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if after := m.files(t); !slices.Equal(before, after) {
		t.Errorf("after the undo: %q", after)
	}
	if got := m.ran("dracut")[2:]; !slices.Equal(got, made[1:]) {
		t.Errorf("undo ran %q", got)
	}
}

// TestNouveauNowhere checks that the step writes nothing if the kernels do not have nouveau.
func TestNouveauNowhere(t *testing.T) {
	m, s := newMachine(t)
	m.put(t, "lib/modules/5.14.0-1.el9.x86_64/modules.dep", "kernel/fs/ext4/ext4.ko.xz:\n")
	holds(t, NouveauStep(s).Done, true)
	if err := NouveauStep(s).Undo(t.Context()); err != nil || len(m.calls) > 0 {
		t.Errorf("%v, ran %q", err, m.calls)
	}
}

// TestNouveauInterrupted checks that the next run re-creates the interrupted image and the other one.
func TestNouveauInterrupted(t *testing.T) {
	m, s := withNouveau(t)
	draft := "boot/.initramfs-5.14.0-2.el9.x86_64.img.airgap-new"
	fine := m.answers["dracut --force /"+draft]
	m.fails("dracut --force /"+draft, "No space left on device")
	m.put(t, draft, "half of")
	st := NouveauStep(s)
	if err := st.Run(t.Context()); err == nil || m.has(draft) || m.get("boot/initramfs-5.14.0-2.el9.x86_64.img") != "an image" {
		t.Fatalf("dracut failed: got %v; a draft exists: %t", err, m.has(draft))
	}
	holds(t, st.Done, false)
	m.answers["dracut --force /"+draft] = fine
	m.calls = nil
	if err := st.Run(t.Context()); err != nil || len(m.ran("dracut")) != 1 {
		t.Errorf("%v, ran %q", err, m.calls)
	}
	holds(t, st.Done, true)
}

func TestNouveauLoaded(t *testing.T) {
	m, s := withNouveau(t)
	m.put(t, "sys/module/nouveau/refcnt", "2\n")
	st := NouveauStep(s)
	err := st.Run(t.Context())
	if _, is := errors.AsType[*RebootError](err); !is || len(m.ran("modprobe")) > 0 {
		t.Errorf("in use: %v, ran %q", err, m.calls)
	}
	mustSay(t, err, "then run the same command again", "this host requires a reboot: nouveau is in use")
	holds(t, st.Done, false)
	m.put(t, "sys/module/nouveau/refcnt", "0\n")
	m.does("modprobe -r nouveau", func() { m.remove(t, "sys/module/nouveau") })
	if err := st.Run(t.Context()); err != nil {
		t.Errorf("not in use: %v", err)
	}
	holds(t, st.Done, true) // and after a reboot
}
