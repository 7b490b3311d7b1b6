package nvml

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"airgap.dev/airgap/internal/host"
)

// Helper is the path of airgap-nvml from airgap.rpm.
const Helper = "/usr/libexec/airgap/airgap-nvml"

// The reasons why the library does not work, with a hint. The helper prints these texts, and Ask
// recognizes them.
var (
	ErrNoDriver  = errors.New("no NVIDIA driver is loaded: run modprobe nvidia, and read dmesg if that fails")
	ErrNoLibrary = errors.New("NVIDIA's libnvidia-ml.so.1 is missing: install the driver's libraries in the version of the kernel module")
	ErrMismatch  = errors.New("NVIDIA's library has another version than the loaded kernel module: reboot, or unload the nvidia modules and load them again")
	ErrBlocked   = errors.New("NVIDIA's library cannot open the driver's devices: check their mode with ls -lZ /dev/nvidia* and SELinux denials with ausearch -m avc; in a container, check its device cgroup")
)

// Query runs the helper, and nvidia-smi if the helper fails. The error has the reasons of both, or only
// one of the errors above if both have the same reason.
func Query(ctx context.Context, h host.Host) (*Report, error) {
	found, helper := ask(ctx, h, Read, Helper)
	if helper == nil || ctx.Err() != nil {
		return found, helper
	}
	found, smi := ask(ctx, h, ReadSMI, "nvidia-smi", "-q", "-x")
	if smi == nil {
		return found, nil
	}
	if why := reason(helper); why != nil && errors.Is(reason(smi), why) {
		return nil, fmt.Errorf("ask NVML: %w", why)
	}
	return nil, fmt.Errorf("ask NVML: %w; instead: %w", known(helper), known(smi))
}

// Watch runs the helper, which listens for Xid events for a time before it reads the GPUs. nvidia-smi
// cannot do this. The error is one of the errors above, or the failure of the helper.
func Watch(ctx context.Context, h host.Host, long time.Duration) (*Report, error) {
	found, err := ask(ctx, h, Read, Helper, "--watch-xid", long.String())
	if err != nil {
		return nil, fmt.Errorf("listen for Xid events: %w", known(err))
	}
	return found, nil
}

func ask(ctx context.Context, h host.Host, read func(io.Reader) (*Report, error), name string, args ...string) (*Report, error) {
	out, err := h.Run(ctx, host.Cmd{Name: name, Args: args})
	if err != nil {
		return nil, err
	}
	found, err := read(bytes.NewReader(out))
	if err != nil {
		return nil, fmt.Errorf("read the output of %s: %w", name, err)
	}
	return found, nil
}

// reason returns one of the errors above, or nil. The exit code of nvidia-smi is the library's code,
// nvmlReturn_t in nvml.h; sometimes only the text shows the reason.
func reason(err error) error {
	failed, is := errors.AsType[*host.CommandError](err)
	if !is {
		return nil
	}
	for _, of := range []struct {
		code int
		text string
		is   error
	}{
		{9, "couldn't communicate with the NVIDIA driver", ErrNoDriver},
		{12, "couldn't find libnvidia-ml.so", ErrNoLibrary},
		{17, "GPU access blocked by the operating system", ErrBlocked},
		{18, "Driver/library version mismatch", ErrMismatch},
	} {
		if failed.ExitCode == of.code || strings.Contains(failed.Tail, of.text) || strings.Contains(failed.Tail, of.is.Error()) {
			return of.is
		}
	}
	return nil
}

// known returns only the reason if a program has printed that text. It adds the reason to a message in
// the words of nvidia-smi.
func known(err error) error {
	why := reason(err)
	switch {
	case why == nil:
		return err
	case strings.Contains(err.Error(), why.Error()):
		return why
	default:
		return fmt.Errorf("%w (%w)", err, why)
	}
}

// maxAnswer is the size limit of an output. 16 GPUs have 2 MB of XML, mostly clocks.
const maxAnswer = 16 << 20

// Read reads the output of the helper: one Report in JSON, of at most 16 MiB.
func Read(r io.Reader) (*Report, error) {
	limited := &io.LimitedReader{R: r, N: maxAnswer + 1}
	in := json.NewDecoder(limited)
	in.DisallowUnknownFields()
	var found Report
	err := in.Decode(&found)
	if limited.N == 0 {
		return nil, errTooLong
	}
	if err != nil {
		return nil, err
	}
	if _, err := in.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one report")
	}
	if found.Driver == "" {
		return nil, errNoVersion
	}
	return &found, nil
}

var (
	errTooLong   = fmt.Errorf("more than %d MiB", maxAnswer>>20)
	errTooDeep   = fmt.Errorf("elements nested more than %d deep", maxDepth)
	errNoVersion = errors.New("missing driver version")
)
