package nvml_test

import (
	"context"
	"errors"
	"os/exec"
	"strings"
	"testing"

	"airgap.dev/airgap/gpu/nvml"
	"airgap.dev/airgap/internal/host"
)

const oneCard = `<nvidia_smi_log><driver_version>580.82.07</driver_version><attached_gpus>1</attached_gpus>
<gpu id="00000000:17:00.0"><product_name>NVIDIA L4</product_name></gpu></nvidia_smi_log>`

// TestAsk checks the source of the report, and the errors.
func TestAsk(t *testing.T) {
	says := func(text string) func() ([]byte, error) {
		return func() ([]byte, error) { return []byte(text), nil }
	}
	fails := func(code int, tail string) func() ([]byte, error) {
		return func() ([]byte, error) {
			return nil, &host.CommandError{Argv: []string{"it"}, ExitCode: code, Tail: tail, Err: errors.New("exit status")}
		}
	}
	missing := func() ([]byte, error) {
		return nil, &host.CommandError{Argv: []string{"it"}, ExitCode: -1, Err: exec.ErrNotFound}
	}
	for name, tt := range map[string]struct {
		helper, smi func() ([]byte, error)
		driver      string
		is          error  // wanted error
		says        string // parts of its text, separated by |
	}{
		"helper":            {says(`{"driver": "1", "cards": []}`), nil, "1", nil, ""},
		"no helper":         {missing, says(oneCard), "580.82.07", nil, ""},
		"helper of another": {says(`{"driver": "1", "cards": [], "more": 1}`), says(oneCard), "580.82.07", nil, ""},
		"nothing":           {missing, missing, "", exec.ErrNotFound, "ask NVML: run it|; instead: run it"},
		"same reason": {
			fails(1, "airgap-nvml: error: "+nvml.ErrMismatch.Error()),
			fails(255, "Failed to initialize NVML: Driver/library version mismatch"),
			"",
			nvml.ErrMismatch,
			"ask NVML: NVIDIA's library has another version",
		},
		"no device": {
			fails(1, "airgap-nvml: error: "+nvml.ErrBlocked.Error()),
			fails(17, "Failed to initialize NVML: GPU access blocked by the operating system"),
			"",
			nvml.ErrBlocked,
			"ask NVML: NVIDIA's library cannot open",
		},
		"other reasons": {
			fails(1, "airgap-nvml: error: "+nvml.ErrNoLibrary.Error()),
			fails(9, "NVIDIA-SMI has failed"),
			"",
			nvml.ErrNoDriver,
			nvml.ErrNoLibrary.Error() + "|NVIDIA-SMI has failed (no NVIDIA driver is loaded",
		},
		"no driver at all": {fails(1, "airgap-nvml: error: "+nvml.ErrNoLibrary.Error()), missing, "", nvml.ErrNoLibrary, "ask NVML: NVIDIA's libnvidia-ml.so.1 is missing|instead: run it"},
		"unreadable":       {says("{"), says("<html/>"), "", nil, "read the output of " + nvml.Helper + "|read the output of nvidia-smi"},
	} {
		found, err := nvml.Query(t.Context(), recorded{nvml.Helper: tt.helper, "nvidia-smi": tt.smi})
		if tt.driver != "" {
			if err != nil || found.Driver != tt.driver {
				t.Errorf("%s: %v, %v", name, found, err)
			}
			continue
		}
		if err == nil || tt.is != nil && !errors.Is(err, tt.is) {
			t.Errorf("%s: %v, %v", name, found, err)
			continue
		}
		for part := range strings.SplitSeq(tt.says, "|") {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("%s: got %v, want %q", name, err, part)
			}
		}
	}
}

// TestAskEnds checks that Ask does not run nvidia-smi after its context has ended.
func TestAskEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	_, err := nvml.Query(ctx, recorded{nvml.Helper: func() ([]byte, error) {
		cancel()
		return nil, ctx.Err()
	}})
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestRead(t *testing.T) {
	for text, want := range map[string]string{
		"":                                  "EOF",
		"{}":                                "missing driver version",
		`{"driver": "1"} {}`:                "more than one report",
		`{"driver": "1", "speed": 3}`:       "unknown field",
		strings.Repeat(" ", 16<<20) + " {}": "more than 16 MiB",
	} {
		if found, err := nvml.Read(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20q gives %v, %v", text, found, err)
		}
	}
}
