package agent

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// An agent is root until its sockets and network namespaces are open: ports below 1024, packet sockets, VXLAN
// interfaces and their namespaces need that. Then it reads what other hosts send, as nobody, with these
// capabilities:
//   - CAP_NET_RAW, for ARP probes, and packets of ICMP and protocol 4, which it sends during its tests.
//   - CAP_NET_ADMIN, because the kernel gives the rules of the packet filter to no one else. nft reads them
//     at the end, if a port is closed.

// nobody is the user and group without files, the kernel's overflow ID.
const nobody = 65534

func kept() []uintptr { return []uintptr{unix.CAP_NET_RAW, unix.CAP_NET_ADMIN} }

// dropPrivileges makes all threads of this process, and the programs that it starts, run as nobody with the
// kept capabilities, and without a way to get others.
func dropPrivileges() error {
	err := prctl(unix.PR_SET_KEEPCAPS, 1, 0)
	if errors.Is(err, syscall.ENOTSUP) {
		return nil // only the race detector's builds have cgo, and cannot change all threads
	}
	if err == nil {
		err = dropBounding()
	}
	if err == nil {
		err = errors.Join(syscall.Setgroups(nil), syscall.Setresgid(nobody, nobody, nobody))
	}
	if err == nil {
		err = syscall.Setresuid(nobody, nobody, nobody)
	}
	if err == nil {
		err = setCapabilities()
	}
	for _, capability := range kept() { // for nft
		if err == nil {
			err = prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_RAISE, capability)
		}
	}
	if err == nil {
		err = prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0)
	}
	if err != nil {
		return fmt.Errorf("give up the privileges of root: %w", err)
	}
	return nil
}

// dropBounding removes the capabilities that no program may get.
func dropBounding() error {
	text, err := os.ReadFile("/proc/sys/kernel/cap_last_cap")
	if err != nil {
		return err
	}
	last, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 8)
	if err != nil {
		return err
	}
	for capability := range uintptr(last) + 1 {
		if capability == unix.CAP_NET_RAW || capability == unix.CAP_NET_ADMIN {
			continue
		}
		if err := prctl(unix.PR_CAPBSET_DROP, capability, 0); err != nil {
			return err
		}
	}
	return nil
}

// setCapabilities sets the effective, permitted and inheritable capabilities.
func setCapabilities() error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var sets [2]unix.CapUserData
	for _, capability := range kept() {
		set := &sets[capability/32]
		set.Effective |= 1 << (capability % 32)
		set.Permitted, set.Inheritable = set.Effective, set.Effective
	}
	//nolint:gosec // the kernel reads the two structures
	_, _, number := syscall.AllThreadsSyscall(unix.SYS_CAPSET, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&sets)), 0)
	return asError(number)
}

// prctl changes all threads.
func prctl(option int, first, second uintptr) error {
	_, _, number := syscall.AllThreadsSyscall6(unix.SYS_PRCTL, uintptr(option), first, second, 0, 0, 0)
	return asError(number)
}

func asError(number syscall.Errno) error {
	if number == 0 {
		return nil
	}
	return number
}
