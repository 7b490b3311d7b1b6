package preflight

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/template"

	"golang.org/x/tools/txtar"

	"airgap.dev/airgap/preflight/replay"
)

//go:embed survey.sh.tmpl
var surveyTemplate string

// surveyEnd is the last section of what the script writes: without it a copy
// was cut off.
const surveyEnd = "end/"

// SurveyScript is the survey as a POSIX shell script that people can read
// before they run it. It writes a recording, of which replay.Host and Survey make
// the facts that the program itself would have found.
func SurveyScript() ([]byte, error) {
	t, err := template.New("survey").Parse(surveyTemplate)
	if err != nil {
		return nil, err
	}
	var sysctls []string
	for _, name := range surveyedSysctls() {
		sysctls = append(sysctls, "proc/sys/"+strings.ReplaceAll(name, ".", "/"))
	}
	var dirs []string
	for _, d := range leftoverDirs() {
		dirs = append(dirs, d.path)
	}
	var b bytes.Buffer
	err = t.Execute(&b, map[string]any{
		"Sysctls": sysctls, "Units": surveyedUnits(), "Paths": surveyedPaths(), "Dirs": dirs, "Vendor": "0x" + nvidia,
		"Present": slices.Concat(runtimeSockets(), runtimeBinaries(), blockingLeftovers(), untidyLeftovers(), toolPaths(), []string{nvidiaUninstall}),
		"Binary":  []string{secureBootVar, mokListVar, dkmsKey, "proc/config.gz"}, "DropIns": serviceDropIns(), "KubeletClient": kubeletClient,
		"LeftOut":   leftOutPattern,
		"RPMFormat": "'" + strings.ReplaceAll(rpmFormat, "'", `'\''`) + "'",
	})
	return b.Bytes(), err
}

// ReadSurvey makes facts of what the script wrote.
func ReadSurvey(ctx context.Context, r io.Reader) (*Facts, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxSurvey+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxSurvey {
		return nil, fmt.Errorf("a survey has at most %d MiB", maxSurvey>>20)
	}
	a := txtar.Parse(text)
	if n := len(a.Files); n == 0 || a.Files[n-1].Name != surveyEnd {
		return nil, errors.New("it was cut off, or the script did not reach its end")
	}
	h, err := replay.Host(text)
	if err != nil {
		return nil, err
	}
	return Survey(ctx, h)
}

// maxSurvey is far above what a server with thousands of packages has.
const maxSurvey = 64 << 20
