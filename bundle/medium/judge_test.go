package medium

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/nextboot"
	"airgap.dev/airgap/preflight/facts"
)

// surveyed returns the facts of a server with the modules of its release, without the given ones.
func surveyed(id, version, kernel string, without ...string) *facts.Facts {
	f := &facts.Facts{Host: "cp1", OS: facts.OS{ID: id, Version: version}, Kernel: facts.Kernel{Release: kernel}, Media: facts.Media{Modules: map[string]facts.Module{}}}
	for _, name := range facts.MediaModules() {
		f.Media.Modules[name] = facts.Loadable
	}
	for _, name := range append(without, "ntfs3", "btrfs", "hfsplus", "f2fs") {
		f.Media.Modules[name] = facts.Missing
	}
	return f
}

func el8() *facts.Facts { return surveyed("rocky", "8.10", "4.18.0-553.el8_10.x86_64", "exfat") }
func el9(minor int) *facts.Facts {
	return surveyed("rocky", fmt.Sprintf("9.%d", minor), "5.14.0-362.el9.x86_64")
}

// blocked is a server of EL 9 with CIS's line against udf.
func blocked(module string) *facts.Facts {
	f := el9(6)
	f.Media.Modules[module] = facts.Blocked
	f.Media.Blocked = []nextboot.Block{{Module: module, By: "install", Place: nextboot.Place{File: "/etc/modprobe.d/cis.conf", Line: 3}}}
	return f
}

func with(f *facts.Facts, change func(*facts.Facts)) *facts.Facts {
	change(f)
	return f
}

func TestJudge(t *testing.T) {
	features := func(of ...[]bit) (all []Feature) {
		for _, bits := range of {
			for _, b := range bits {
				all = append(all, b.Feature)
			}
		}
		return all
	}
	rhel9 := features(xfsIncompat()[:1], xfsReadOnly())
	rhel10 := features(xfsIncompat()[:4], xfsReadOnly())
	argon := &Crypt{"LUKS2", "argon2id"}
	for name, test := range map[string]struct {
		medium Medium
		server Server
		refuse string
		warn   string
	}{
		"FAT32":                  {Medium{Type: "vfat"}, Server{Facts: el8()}, "", ""},
		"exFAT on EL 8":          {Medium{Type: "exfat"}, Server{Facts: el8()}, "exFAT: the kernel has no module exfat", ""},
		"exFAT on EL 9":          {Medium{Type: "exfat"}, Server{Facts: el9(2)}, "", ""},
		"exFAT, EL 8 assumed":    {Medium{Type: "exfat"}, Server{OS: "el8"}, "exFAT: the kernel has no module exfat", ""},
		"exFAT, EL 9 assumed":    {Medium{Type: "exfat"}, Server{OS: "el9"}, "", ""},
		"exFAT, older survey":    {Medium{Type: "exfat"}, Server{OS: "el8", Facts: &facts.Facts{OS: el8().OS}}, "exFAT: the kernel has no module exfat", ""},
		"exFAT through FUSE":     {Medium{Type: "exfat"}, Server{Facts: with(el8(), func(f *facts.Facts) { f.Packages = []facts.Package{{Name: "fuse-exfat"}} })}, "", ""},
		"NTFS":                   {Medium{Type: "ntfs"}, Server{Facts: el9(6)}, "NTFS: the kernel has no module ntfs3", ""},
		"NTFS, EL 10 assumed":    {Medium{Type: "ntfs3"}, Server{OS: "el10"}, "NTFS: the kernel has no module ntfs3", ""},
		"NTFS with ntfs-3g":      {Medium{Type: "fuse.ntfs-3g"}, Server{Facts: with(el9(6), func(f *facts.Facts) { f.Packages = []facts.Package{{Name: "ntfs-3g"}} })}, "", ""},
		"Btrfs":                  {Medium{Type: "btrfs"}, Server{OS: "el10"}, "Btrfs: the kernel has no module btrfs", ""},
		"Btrfs on UEK":           {Medium{Type: "btrfs"}, Server{Facts: with(el9(4), func(f *facts.Facts) { f.Media.Modules["btrfs"] = facts.Loadable })}, "", ""},
		"HFS+":                   {Medium{Type: "hfsplus"}, Server{OS: "el9"}, "HFS+", ""},
		"UDF":                    {Medium{Type: "udf", Version: "2.60"}, Server{Facts: el8()}, "", ""},
		"UDF of the future":      {Medium{Type: "udf", Version: "3.00"}, Server{Facts: el8()}, "UDF 3.00: Linux reads revisions up to 2.60", ""},
		"UDF, blocked by CIS":    {Medium{Type: "udf"}, Server{Facts: blocked("udf")}, "UDF: /etc/modprobe.d/cis.conf line 3 blocks the module udf", ""},
		"FAT, blocked":           {Medium{Type: "vfat"}, Server{Facts: blocked("vfat")}, "FAT: /etc/modprobe.d/cis.conf line 3 blocks the module vfat", ""},
		"XFS of EL 9 on EL 8":    {Medium{Type: "xfs", Features: rhel9}, Server{Facts: el8()}, "XFS with bigtime", "inobtcount only with mount -o ro"},
		"XFS of EL 9 on EL 9":    {Medium{Type: "xfs", Features: rhel9}, Server{Facts: el9(0)}, "", ""},
		"XFS of EL 10 on EL 9.2": {Medium{Type: "xfs", Features: rhel10}, Server{Facts: el9(2)}, "", "may not mount XFS with nrext64 and exchange and parent, which needs Linux 6.10"},
		"XFS of EL 10 on EL 9.4": {Medium{Type: "xfs", Features: rhel10}, Server{Facts: el9(4)}, "XFS with exchange and parent", ""},
		"XFS of EL 10 on EL 9.6": {Medium{Type: "xfs", Features: rhel10}, Server{Facts: el9(6)}, "", "may not mount XFS with exchange and parent"},
		"XFS of EL 10 on EL 10":  {Medium{Type: "xfs", Features: rhel10}, Server{OS: "el10"}, "", ""},
		"nrext64 on EL 9.4":      {Medium{Type: "xfs", Features: features(xfsIncompat()[1:2])}, Server{Facts: el9(4)}, "", ""},
		"XFS on UEK 7 of EL 8":   {Medium{Type: "xfs", Features: rhel9}, Server{Facts: surveyed("ol", "8.10", "5.15.0-300.el8uek.x86_64")}, "", ""},
		"ext4 of e2fsprogs 1.47": {Medium{Type: "ext4", Features: features(ext4Compat()[1:])}, Server{Facts: el8()}, "", "cannot check ext4 with orphan_file with e2fsck"},
		"ext4 with casefold":     {Medium{Type: "ext4", Features: features(ext4Incompat())}, Server{Facts: el8()}, "ext4 with casefold", ""},
		"LUKS2, FIPS": {
			Medium{Type: "vfat", Crypt: argon}, Server{Facts: with(el9(6), func(f *facts.Facts) { f.Security.FIPS = true })},
			"is in FIPS mode and cannot open LUKS2 with argon2id", "",
		},
		"LUKS2":                   {Medium{Type: "vfat", Crypt: argon}, Server{Facts: el9(6)}, "", ""},
		"LUKS2, no cryptsetup":    {Medium{Type: "vfat", Crypt: argon}, Server{Facts: with(el8(), func(f *facts.Facts) { f.Packages = []facts.Package{{Name: "bash"}} })}, "", "no package cryptsetup"},
		"LUKS2, no device mapper": {Medium{Type: "vfat", Crypt: argon}, Server{Facts: surveyed("rhel", "9.6", "5.14.0-570.el9", "dm_crypt")}, "cannot open LUKS2: the kernel has no module dm_crypt", ""},
		"another type":            {Medium{Type: "fuse.sshfs"}, Server{Facts: el8()}, "", ""},
	} {
		refused, warned := "", ""
		for _, f := range test.medium.judge(test.server) {
			if f.fatal {
				refused += f.text
			} else {
				warned += f.text
			}
		}
		assert.Equal(t, test.refuse == "", refused == "", "%s: %s", name, refused)
		assert.Contains(t, refused, test.refuse, name)
		assert.Equal(t, test.warn == "", warned == "", "%s: %s", name, warned)
		assert.Contains(t, warned, test.warn, name)
	}
}

// TestCheck: only a stick that the first server cannot read is refused.
func TestCheck(t *testing.T) {
	exfat := Medium{Type: "exfat", Mount: "/mnt/stick", Device: "/dev/sdb1", Carried: true}
	cp1, w1, w2 := Server{Name: "cp1", Facts: el8(), First: true}, Server{Name: "w1", Facts: el8()}, Server{Name: "w2", Facts: el8()}
	internal, here := exfat, exfat
	const no = "(kernel 4.18.0-553.el8_10.x86_64) cannot mount exFAT: the kernel has no module exfat"
	const warned = "warning: the medium at /mnt/stick: cp1 " + no
	internal.Carried = false
	here.Carried, here.Root = false, true
	for name, test := range map[string]struct {
		medium  Medium
		any     bool
		servers []Server
		refused bool
		said    []string
	}{
		"the first server":      {exfat, false, []Server{cp1}, true, nil},
		"it ends at a gate":     {exfat, true, []Server{cp1}, false, []string{warned}},
		"others without SSH":    {exfat, false, []Server{w1, w2}, false, []string{"warning: the medium at /mnt/stick: w[1-2] (2 hosts) " + no}},
		"an internal data disk": {internal, false, []Server{cp1}, false, []string{warned}},
		"this host's own disk":  {here, false, []Server{cp1}, false, nil},
		"a file server":         {Medium{Type: "exfat"}, false, []Server{cp1}, false, nil},
		"unread features": {
			Medium{Type: "xfs", Mount: "/m", Device: "/dev/sdb1", Carried: true, Unread: errors.New("denied")}, false, []Server{cp1}, false,
			[]string{"note: the medium at /m is XFS; which of its features are new is unknown: denied"},
		},
	} {
		var said []string
		err := test.medium.check(test.any, test.servers, func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) })
		assert.Equal(t, test.said, said, name)
		if !test.refused {
			require.NoError(t, err, name)
			continue
		}
		require.True(t, advice.IsUsage(err), name)
		require.EqualError(t, err, "write a bundle to /mnt/stick: cp1 "+no)
		assert.Contains(t, advice.Of(err), "mkfs.vfat -F 32 /dev/sdb1")
	}
}

// TestUSBIsSaid: the plan says that USB drives are blocked, also without a medium.
func TestUSBIsSaid(t *testing.T) {
	f := el9(6)
	f.USBBlocked = []facts.SourceLine{{File: "/etc/modprobe.d/usb.conf", Line: 1, Text: "install usb-storage /bin/false"}}
	guarded := el9(6)
	guarded.Units = []facts.Unit{{Name: "usbguard.service", State: "active"}}
	var said []string
	require.NoError(t, Check(t.Context(), "", false, []Server{{Name: "cp1", Facts: f}, {Name: "w1", Facts: f}, {Name: "w2", Facts: guarded}, {Name: "w3"}},
		func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) }))
	require.Len(t, said, 2)
	assert.Contains(t, said[0], "USB drives are blocked on ")
	assert.Contains(t, said[0], "install usb-storage /bin/false; before the trip")
	assert.Contains(t, said[1], "usbguard.service is active")
}

func TestTimes(t *testing.T) {
	assert.Equal(t, "virtual media of a BMC (iDRAC, iLO, XCC) 33 min to 83 min, DVD 8 min to 33 min, USB 2 5 min to 8 min, USB 3 1 min to 2 min", Times(10_000_000_000))
	assert.Contains(t, Times(100_000_000_000), "XCC) 6 h to 14 h")
}
