package settings

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/host/hosttest"
)

const theirFstab = "# /etc/fstab\n" +
	"UUID=1 / xfs defaults 0 0\n" +
	"/dev/mapper/rl-swap\tnone  swap  defaults 0 0\n" +
	"#/dev/old none swap defaults 0 0\n" +
	"/swap\\040file none swap pri=5 0 0\n" +
	"bank:/export /mnt nfs swap 0 0\n"

// fakeSwap is a host with active areas, by path with their priorities, and the
// units that systemd lists.
func fakeSwap(t *testing.T, f *hosttest.Fake) map[string]int {
	t.Helper()
	active := map[string]int{"/dev/dm-1": -2, "/swap file": 5, "/dev/zram0": 100}
	units := "sshd.service enabled enabled\ndev-sdc.swap enabled enabled\ndev-sdx.swap disabled enabled\ndev-sdd.swap generated -\n"
	write := func() {
		text := "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n"
		for name, priority := range active {
			text += fmt.Sprintf("%s partition\t4194300\t\t0\t\t%d\n", strings.ReplaceAll(name, " ", `\040`), priority)
		}
		f.Put(t, "proc/swaps", text)
	}
	write()
	f.Answers["swapoff"] = func(c host.Cmd) ([]byte, error) { delete(active, c.Args[0]); write(); return nil, nil }
	f.Answers["swapon"] = func(c host.Cmd) ([]byte, error) { active[c.Args[len(c.Args)-1]] = 0; write(); return nil, nil }
	f.Answers["systemctl list-unit-files"] = func(host.Cmd) ([]byte, error) { return []byte(units), nil }
	f.Fails("systemctl list-unit-files --type=swap", 1, "") // systemd's answer where there is none
	f.Answers["systemctl mask"] = func(host.Cmd) ([]byte, error) {
		units = strings.Replace(units, "sdd.swap generated", "sdd.swap masked", 1)
		return nil, nil
	}
	f.Answers["systemctl disable"] = func(host.Cmd) ([]byte, error) {
		units = strings.Replace(units, "sdc.swap enabled", "sdc.swap disabled", 1)
		return nil, nil
	}
	f.Put(t, fstab, theirFstab)
	hosttest.Must(os.Chmod(filepath.Join(f.Root, fstab), 0o640))
	f.Put(t, "usr/lib/systemd/zram-generator.conf", "[zram0]\n")
	return active
}

func TestSwap(t *testing.T) {
	f, m := hosttest.New(t)
	active := fakeSwap(t, f)
	f.Put(t, "dev/dm-1", "")
	f.Put(t, "swap file", "")
	s := SwapStep(m)
	hosttest.WantPlan(t, f, s,
		"comment out in /etc/fstab: /dev/mapper/rl-swap\tnone  swap  defaults 0 0", `comment out in /etc/fstab: /swap\040file none swap pri=5 0 0`,
		"write "+zramConf, "swapoff /dev/zram0", "swapoff /swap file", "swapoff /dev/dm-1", "disable dev-sdc.swap")
	hosttest.MustBeDone(t, s.Done, false)
	if err := s.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	hosttest.MustBeDone(t, s.Done, true)
	if got := f.Get(fstab); strings.Count(got, "\n"+fstabMark) != 2 || len(active) != 0 || f.Get(zramConf) != zramText {
		t.Errorf("active %v, %s:\n%s", active, fstab, got)
	}

	f.Put(t, fstab, f.Get(fstab)+"/dev/sdz none swap defaults 0 0\n") // theirs, later
	f.Calls = nil
	for range 2 {
		if err := s.Undo(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if got := f.Get(fstab); got != theirFstab+"/dev/sdz none swap defaults 0 0\n" || f.Has(zramConf) || f.Has(swapUndo) {
		t.Errorf("after the undo %s is\n%s", fstab, got)
	}
	if info, err := os.Stat(filepath.Join(f.Root, fstab)); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("mode of fstab: %v, %v", info.Mode(), err)
	}
	on := slices.DeleteFunc(f.Calls, func(c string) bool { return !strings.HasPrefix(c, "swapon") && !strings.HasPrefix(c, "systemctl") })
	want := []string{"systemctl enable dev-sdc.swap", "systemctl unmask dev-sdd.swap", "systemctl daemon-reload", "systemctl start dev-zram0.swap", "swapon --priority 5 /swap file", "swapon /dev/dm-1"}
	if !slices.Equal(on, want) {
		t.Errorf("ran %q, want %q", on, want)
	}
}

// TestSwapOfAPackage: a link in /usr starts a unit that systemctl calls static, so it is masked.
func TestSwapOfAPackage(t *testing.T) {
	f, m := hosttest.New(t)
	units := "data.swap static -\n"
	f.Answers["systemctl list-unit-files"] = func(host.Cmd) ([]byte, error) { return []byte(units), nil }
	f.Answers["systemctl mask"] = func(host.Cmd) ([]byte, error) { f.Put(t, "etc/systemd/system/data.swap", ""); return nil, nil }
	f.Put(t, "usr/lib/systemd/system/data.swap", "[Swap]\nWhat=/dev/sdb1\n")
	f.Put(t, "usr/lib/systemd/system/swap.target.wants/data.swap", "")
	f.Put(t, "usr/local/lib/systemd/zram-generator.conf", "[zram0]\n")
	s := SwapStep(m)
	hosttest.WantPlan(t, f, s, "write "+zramConf, "mask data.swap")
	if err := s.Run(t.Context()); err != nil || f.Ran("systemctl mask data.swap") != 1 {
		t.Fatalf("%v, ran %q", err, f.Calls)
	}
	hosttest.MustBeDone(t, s.Done, true)
	if err := s.Undo(t.Context()); err != nil || f.Ran("systemctl unmask data.swap") != 1 || f.Has(zramConf) {
		t.Errorf("%v, ran %q", err, f.Calls)
	}
}

// Half of it was off when it was killed: the undo knows all of it.
func TestSwapInterrupted(t *testing.T) {
	f, m := hosttest.New(t)
	active := fakeSwap(t, f)
	f.Put(t, "dev/dm-1", "")
	off := f.Answers["swapoff"]
	f.Answers["swapoff"] = func(c host.Cmd) ([]byte, error) {
		if c.Args[0] == "/dev/dm-1" {
			return nil, &host.CommandError{Argv: []string{"swapoff"}, ExitCode: 4, Tail: "Cannot allocate memory", Err: errors.New("exit status 4")}
		}
		return off(c)
	}
	var failure *host.Failure
	if err := SwapStep(m).Run(t.Context()); !errors.As(err, &failure) || failure.Next == "" {
		t.Fatalf("got %v", err)
	}
	f.Answers["swapoff"] = off
	if err := SwapStep(m).Run(t.Context()); err != nil || len(active) != 0 {
		t.Fatalf("%v, active %v", err, active)
	}
	f.Calls = nil
	if err := SwapStep(m).Undo(t.Context()); err != nil {
		t.Fatal(err)
	}
	if f.Ran("swapon /dev/dm-1") != 1 || f.Ran("systemctl start dev-zram0.swap") != 1 || f.Ran("swapon --priority") != 0 { // the file is gone
		t.Errorf("ran %q", f.Calls)
	}
}

// TestSwapByUUID: years later the kernel calls another disk dm-1.
func TestSwapByUUID(t *testing.T) {
	f, m := hosttest.New(t)
	fakeSwap(t, f)
	for _, disk := range []string{"dev/dm-1", "dev/dm-3"} {
		f.Put(t, disk, "")
	}
	link := filepath.Join(f.Root, "dev/disk/by-uuid/c0ffee-01")
	if err := errors.Join(os.MkdirAll(filepath.Dir(link), 0o755), os.Symlink("../../dm-1", link)); err != nil {
		t.Fatal(err)
	}
	if err := SwapStep(m).Run(t.Context()); err != nil || f.Ran("swapoff /dev/dm-1") != 1 {
		t.Fatalf("%v, ran %q", err, f.Calls)
	}
	if err := errors.Join(os.Remove(link), os.Symlink("../../dm-3", link)); err != nil {
		t.Fatal(err)
	}
	if err := SwapStep(m).Undo(t.Context()); err != nil || f.Ran("swapon /dev/disk/by-uuid/c0ffee-01") != 1 || f.Ran("swapon /dev/dm-1") != 0 {
		t.Errorf("%v, ran %q", err, f.Calls)
	}
}

// TestSwapOfOldRecord: an airgap that knew no UUIDs recorded the same area by its path.
func TestSwapOfOldRecord(t *testing.T) {
	old, now := swapArea{Path: "/dev/dm-1"}, swapArea{Path: "/dev/dm-1", Lasting: "/dev/disk/by-uuid/c0ffee-01"}
	if !old.is(now) || !now.is(old) || now.is(swapArea{Path: "/dev/dm-1", Lasting: "/dev/disk/by-uuid/other"}) {
		t.Error("areas are not distinguished, or one counts as two")
	}
}

func TestSwapOnAHostWithoutAny(t *testing.T) {
	f, m := hosttest.New(t)
	hosttest.MustBeDone(t, SwapStep(m).Done, true)
	if err := SwapStep(m).Undo(t.Context()); err != nil || f.Ran("systemctl daemon-reload") > 0 {
		t.Errorf("%v, ran %q", err, f.Calls)
	}
}
