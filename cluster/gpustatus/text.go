package gpustatus

import (
	"fmt"
	"io"
	"strings"

	"airgap.dev/airgap/cluster/report"
	"airgap.dev/airgap/gpu"
	"airgap.dev/airgap/gpu/nvml"
	"airgap.dev/airgap/internal/ui"
)

// Write has two lines for each card.
func (st *Status) Write(w io.Writer) error {
	driver := "none is loaded"
	if st.Driver != "" {
		driver = st.Driver
	}
	if st.NVML != nil && st.NVML.CUDA != "" {
		driver += ", CUDA " + st.NVML.CUDA
	}
	fmt.Fprintf(w, "driver  %s\nbus     %s\n", driver, gpu.Summary(st.devices))
	if st.NVML != nil {
		st.writeCards(w)
	}
	for _, f := range st.Faults {
		if _, err := fmt.Fprintf(w, "fault   %s\n", f); err != nil {
			return err
		}
	}
	if st.NVML != nil && len(st.Faults) == 0 {
		_, err := fmt.Fprintln(w, st.fine())
		return err
	}
	return nil
}

func (st *Status) writeCards(w io.Writer) {
	fmt.Fprintln(w)
	for _, c := range st.NVML.GPUs {
		fmt.Fprintf(w, "GPU %-2d  %s\n", c.Index, strings.Join(identity(c), "  "))
		if how := condition(c); len(how) > 0 {
			fmt.Fprintf(w, "        %s\n", strings.Join(how, "; "))
		}
	}
	fmt.Fprintln(w)
}

func (st *Status) fine() string {
	if st.NVML.Xids == nil {
		return "no faults"
	}
	return fmt.Sprintf("no faults, and %s while it was listened for", ui.Count(len(st.NVML.Xids), "Xid event"))
}

// identity leaves out values that the GPU does not report.
func identity(c nvml.GPU) []string {
	var all []string
	for _, word := range []string{c.Address, c.Name, c.UUID} {
		if word != "" {
			all = append(all, word)
		}
	}
	if c.Lost != "" {
		all = append(all, "does not answer")
	}
	return all
}

func condition(c nvml.GPU) []string {
	var all []string
	add := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	if c.Memory != nil {
		add("%d MiB", *c.Memory>>20)
	}
	if how := heat(c); how != "" {
		add("%s", how)
	}
	switch {
	case c.PowerDraw != nil && c.PowerLimit != nil:
		add("%d of %d W", report.Watts(*c.PowerDraw), report.Watts(*c.PowerLimit))
	case c.PowerDraw != nil:
		add("%d W", report.Watts(*c.PowerDraw))
	}
	if c.ECC != nil {
		add("ECC %s", memoryErrors(*c.ECC))
	}
	if c.Rows != nil {
		add("%s replaced", ui.Count(c.Rows.Corrected+c.Rows.Uncorrected, "row"))
	}
	if c.MIG != nil {
		add("MIG %s", parts(*c.MIG))
	}
	if n := len(c.NVLinks); n > 0 {
		add("%d of %d NVLinks", c.Active(), n)
	}
	if c.Fabric != nil {
		add("NVSwitch fabric: %s", c.Fabric.State)
	}
	return all
}

// heat is "31 of 89 °C, off at 92": the card slows itself down from 89 °C on.
func heat(c nvml.GPU) string {
	if c.Temperature == nil {
		return ""
	}
	text := fmt.Sprint(*c.Temperature)
	if c.SlowdownTemperature != nil {
		text += fmt.Sprintf(" of %d", *c.SlowdownTemperature)
	}
	text += " °C"
	if c.ShutdownTemperature != nil {
		text += fmt.Sprintf(", off at %d", *c.ShutdownTemperature)
	}
	return text
}

// memoryErrors are those since the driver was loaded.
func memoryErrors(e nvml.ECC) string {
	switch {
	case !e.Current:
		return "off"
	case e.Volatile.Corrected == nil || e.Volatile.Uncorrected == nil:
		return "on"
	default:
		return fmt.Sprintf("on, %d corrected, %d uncorrected", *e.Volatile.Corrected, *e.Volatile.Uncorrected)
	}
}

func parts(m nvml.MIG) string {
	if !m.Current {
		return "off"
	}
	return "on, " + ui.Count(len(m.Instances), "part")
}
