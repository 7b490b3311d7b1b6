package kubeadm

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"airgap.dev/airgap/internal/host"
)

const theirFstab = "# /etc/fstab\nUUID=1 / xfs defaults 0 0\n/dev/mapper/rl-swap\tnone  swap  defaults 0 0\n#/dev/old none swap defaults 0 0\n/swap\\040file none swap pri=5 0 0\nbank:/export /mnt nfs swap 0 0\n"

// fakeSwap is a host with active areas, by path with their priorities, and the
// units that systemd lists.
func fakeSwap(t *testing.T, f *fakeHost) map[string]int {
	t.Helper()
	active := map[string]int{"/dev/dm-1": -2, "/swap file": 5, "/dev/zram0": 100}
	units := "sshd.service enabled enabled\ndev-sdc.swap enabled enabled\ndev-sdx.swap disabled enabled\ndev-sdd.swap generated -\n"
	write := func() {
		text := "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n"
		for name, priority := range active {
			text += fmt.Sprintf("%s partition\t4194300\t\t0\t\t%d\n", strings.ReplaceAll(name, " ", `\040`), priority)
		}
		f.put(t, "proc/swaps", text)
	}
	write()
	f.answers["swapoff"] = func(c host.Cmd) ([]byte, error) { delete(active, c.Args[0]); write(); return nil, nil }
	f.answers["swapon"] = func(c host.Cmd) ([]byte, error) { active[c.Args[len(c.Args)-1]] = 0; write(); return nil, nil }
	f.answers["systemctl list-unit-files"] = func(host.Cmd) ([]byte, error) { return []byte(units), nil }
	f.fails("systemctl list-unit-files --type=swap", 1, "") // systemd's answer where there is none
	f.answers["systemctl mask"] = func(host.Cmd) ([]byte, error) {
		units = strings.Replace(units, "sdd.swap generated", "sdd.swap masked", 1)
		return nil, nil
	}
	f.answers["systemctl disable"] = func(host.Cmd) ([]byte, error) {
		units = strings.Replace(units, "sdc.swap enabled", "sdc.swap disabled", 1)
		return nil, nil
	}
	f.put(t, fstab, theirFstab)
	must(os.Chmod(filepath.Join(f.root, fstab), 0o640))
	f.put(t, "usr/lib/systemd/zram-generator.conf", "[zram0]\n")
	return active
}

func TestSwap(t *testing.T) {
	f, m := newFake(t)
	active := fakeSwap(t, f)
	f.put(t, "dev/dm-1", "")
	f.put(t, "swap file", "")
	s := SwapStep(m)
	wantPlan(t, f, s,
		"comment out in /etc/fstab: /dev/mapper/rl-swap\tnone  swap  defaults 0 0", `comment out in /etc/fstab: /swap\040file none swap pri=5 0 0`,
		"write "+zramConf, "swapoff /dev/zram0", "swapoff /swap file", "swapoff /dev/dm-1", "disable dev-sdc.swap")
	mustHold(t, s.Done, false)
	if err := s.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	mustHold(t, s.Done, true)
	if got := f.get(fstab); strings.Count(got, "\n"+fstabMark) != 2 || len(active) != 0 || f.get(zramConf) != zramText {
		t.Errorf("active %v, %s:\n%s", active, fstab, got)
	}

	f.put(t, fstab, f.get(fstab)+"/dev/sdz none swap defaults 0 0\n") // theirs, later
	f.calls = nil
	for range 2 {
		if err := s.Undo(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if got := f.get(fstab); got != theirFstab+"/dev/sdz none swap defaults 0 0\n" || f.has(zramConf) || f.has(swapUndo) {
		t.Errorf("after the undo %s is\n%s", fstab, got)
	}
	if info, err := os.Stat(filepath.Join(f.root, fstab)); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("mode of fstab: %v, %v", info.Mode(), err)
	}
	on := slices.DeleteFunc(f.calls, func(c string) bool { return !strings.HasPrefix(c, "swapon") && !strings.HasPrefix(c, "systemctl") })
	want := []string{"systemctl enable dev-sdc.swap", "systemctl unmask dev-sdd.swap", "systemctl daemon-reload", "systemctl start dev-zram0.swap", "swapon --priority 5 /swap file", "swapon /dev/dm-1"}
	if !slices.Equal(on, want) {
		t.Errorf("ran %q, want %q", on, want)
	}
}

// Half of it was off when it was killed: the undo knows all of it.
func TestSwapInterrupted(t *testing.T) {
	f, m := newFake(t)
	active := fakeSwap(t, f)
	f.put(t, "dev/dm-1", "")
	off := f.answers["swapoff"]
	f.answers["swapoff"] = func(c host.Cmd) ([]byte, error) {
		if c.Args[0] == "/dev/dm-1" {
			return nil, &host.CommandError{Argv: []string{"swapoff"}, ExitCode: 4, Tail: "Cannot allocate memory", Err: errors.New("exit status 4")}
		}
		return off(c)
	}
	var failure *Failure
	if err := SwapStep(m).Run(t.Context()); !errors.As(err, &failure) || failure.Next == "" {
		t.Fatalf("got %v", err)
	}
	f.answers["swapoff"] = off
	if err := SwapStep(m).Run(t.Context()); err != nil || len(active) != 0 {
		t.Fatalf("%v, active %v", err, active)
	}
	f.calls = nil
	if err := SwapStep(m).Undo(t.Context()); err != nil {
		t.Fatal(err)
	}
	if f.ran("swapon /dev/dm-1") != 1 || f.ran("systemctl start dev-zram0.swap") != 1 || f.ran("swapon --priority") != 0 { // the file is gone
		t.Errorf("ran %q", f.calls)
	}
}

// TestSwapByUUID: years later the kernel calls another disk dm-1.
func TestSwapByUUID(t *testing.T) {
	f, m := newFake(t)
	fakeSwap(t, f)
	for _, disk := range []string{"dev/dm-1", "dev/dm-3"} {
		f.put(t, disk, "")
	}
	link := filepath.Join(f.root, "dev/disk/by-uuid/c0ffee-01")
	if err := errors.Join(os.MkdirAll(filepath.Dir(link), 0o755), os.Symlink("../../dm-1", link)); err != nil {
		t.Fatal(err)
	}
	if err := SwapStep(m).Run(t.Context()); err != nil || f.ran("swapoff /dev/dm-1") != 1 {
		t.Fatalf("%v, ran %q", err, f.calls)
	}
	if err := errors.Join(os.Remove(link), os.Symlink("../../dm-3", link)); err != nil {
		t.Fatal(err)
	}
	if err := SwapStep(m).Undo(t.Context()); err != nil || f.ran("swapon /dev/disk/by-uuid/c0ffee-01") != 1 || f.ran("swapon /dev/dm-1") != 0 {
		t.Errorf("%v, ran %q", err, f.calls)
	}
}

// TestSwapOfOldRecord: an airgap that knew no UUIDs recorded the same area by its path.
func TestSwapOfOldRecord(t *testing.T) {
	old, now := swapArea{Path: "/dev/dm-1"}, swapArea{Path: "/dev/dm-1", Lasting: "/dev/disk/by-uuid/c0ffee-01"}
	if !old.is(now) || !now.is(old) || now.is(swapArea{Path: "/dev/dm-1", Lasting: "/dev/disk/by-uuid/other"}) {
		t.Error("areas are not told apart, or taken for two")
	}
}

func TestSwapOnAHostWithoutAny(t *testing.T) {
	f, m := newFake(t)
	mustHold(t, SwapStep(m).Done, true)
	if err := SwapStep(m).Undo(t.Context()); err != nil || f.ran("systemctl daemon-reload") > 0 {
		t.Errorf("%v, ran %q", err, f.calls)
	}
}
