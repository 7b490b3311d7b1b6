package nvml

import (
	"cmp"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// smiLog has the values of `nvidia-smi -q -x` that a Report needs, in schemas 11 to 13
// (nvsmi_device_v11.dtd to v13). The XML has no NVLinks.
type smiLog struct {
	XMLName xml.Name `xml:"nvidia_smi_log"`
	Driver  string   `xml:"driver_version"`
	CUDA    string   `xml:"cuda_version"`
	Count   string   `xml:"attached_gpus"`
	Cards   []smiGPU `xml:"gpu"`
}

type smiGPU struct {
	ID        string    `xml:"id,attr"`
	Name      string    `xml:"product_name"`
	Serial    string    `xml:"serial"`
	UUID      string    `xml:"uuid"`
	MIG       smiMIG    `xml:"mig_mode"`
	Instances []smiPart `xml:"mig_devices>mig_device"`
	Memory    string    `xml:"fb_memory_usage>total"`
	ECC       smiECC    `xml:"ecc_mode"`
	Volatile  smiErrors `xml:"ecc_errors>volatile"`
	Aggregate smiErrors `xml:"ecc_errors>aggregate"`
	Rows      smiRows   `xml:"remapped_rows"`
	Heat      smiHeat   `xml:"temperature"`
	Power     smiPower  `xml:"gpu_power_readings"`
	PowerV11  smiPower  `xml:"power_readings"`
	Fabric    smiFabric `xml:"fabric"`
}

type smiMIG struct {
	Current string `xml:"current_mig"`
	Pending string `xml:"pending_mig"`
}

type smiPart struct {
	GPU     string `xml:"gpu_instance_id"`
	Compute string `xml:"compute_instance_id"`
}

type smiECC struct {
	Current string `xml:"current_ecc"`
	Pending string `xml:"pending_ecc"`
}

// smiErrors has counters by kind of memory since Turing, and by number of bits before.
type smiErrors struct {
	Corrected   []string `xml:"sram_correctable"`
	DRAM        []string `xml:"dram_correctable"`
	SingleBit   []string `xml:"single_bit>total"`
	SRAM        []string `xml:"sram_uncorrectable"`
	Parity      []string `xml:"sram_uncorrectable_parity"`
	SECDED      []string `xml:"sram_uncorrectable_secded"`
	Uncorrected []string `xml:"dram_uncorrectable"`
	DoubleBit   []string `xml:"double_bit>total"`
}

type smiRows struct {
	Corrected   string `xml:"remapped_row_corr"`
	Uncorrected string `xml:"remapped_row_unc"`
	Pending     string `xml:"remapped_row_pending"`
	Failed      string `xml:"remapped_row_failure"`
}

// smiHeat has limits as temperatures, or from Ada on as margins to a target.
type smiHeat struct {
	Now            string `xml:"gpu_temp"`
	Slowdown       string `xml:"gpu_temp_slow_threshold"`
	Shutdown       string `xml:"gpu_temp_max_threshold"`
	Margin         string `xml:"gpu_temp_tlimit"`
	SlowdownMargin string `xml:"gpu_temp_slow_tlimit_threshold"`
	ShutdownMargin string `xml:"gpu_temp_max_tlimit_threshold"`
}

type smiPower struct {
	Draw     string `xml:"power_draw"`
	Average  string `xml:"average_power_draw"`
	Instant  string `xml:"instant_power_draw"`
	Enforced string `xml:"enforced_power_limit"`
	Limit    string `xml:"current_power_limit"`
}

type smiFabric struct {
	State  string `xml:"state"`
	Status string `xml:"status"`
}

// maxDepth limits the nesting of elements, of which encoding/xml keeps the open ones. The deepest are at 6.
const maxDepth = 100

// shallow has the tokens of a document without deep nesting.
type shallow struct {
	from  *xml.Decoder
	depth int
}

// Token returns the next token.
func (s *shallow) Token() (xml.Token, error) {
	token, err := s.from.RawToken()
	switch token.(type) {
	case xml.StartElement:
		s.depth++
	case xml.EndElement:
		s.depth--
	}
	if s.depth > maxDepth {
		return nil, errTooDeep
	}
	return token, err
}

// ReadSMI reads the output of `nvidia-smi -q -x`, of at most 16 MiB.
func ReadSMI(r io.Reader) (*Report, error) {
	limited := &io.LimitedReader{R: r, N: maxAnswer + 1}
	var log smiLog
	err := xml.NewTokenDecoder(&shallow{from: xml.NewDecoder(limited)}).Decode(&log)
	if limited.N == 0 {
		return nil, errTooLong
	}
	if err != nil {
		return nil, err
	}
	if log.Count != strconv.Itoa(len(log.Cards)) {
		return nil, fmt.Errorf("%d GPUs, but attached_gpus is %q", len(log.Cards), log.Count)
	}
	found := &Report{Driver: text(log.Driver), CUDA: text(log.CUDA), GPUs: []GPU{}}
	if found.Driver == "" {
		return nil, errNoVersion
	}
	for i, g := range log.Cards {
		c, err := g.card(i)
		if err != nil {
			return nil, fmt.Errorf("GPU %d: %w", i, err)
		}
		found.GPUs = append(found.GPUs, c)
	}
	return found, nil
}

func (g smiGPU) card(index int) (GPU, error) {
	address, err := busAddress(g.ID)
	power := g.Power
	if power == (smiPower{}) {
		power = g.PowerV11
	}
	temperature, slowdown, shutdown := g.Heat.temperatures()
	return GPU{
		Index: index, UUID: text(g.UUID), Address: address, Name: text(g.Name), Serial: text(g.Serial),
		ECC:         g.ecc(),
		Rows:        g.Rows.rows(),
		MIG:         g.mig(),
		Fabric:      g.Fabric.fabric(),
		Temperature: temperature, SlowdownTemperature: slowdown, ShutdownTemperature: shutdown,
		PowerDraw:  quantity[int]("W", 1000, power.Draw, power.Average, power.Instant),
		PowerLimit: quantity[int]("W", 1000, power.Enforced, power.Limit),
		Memory:     quantity[int64]("MiB", 1<<20, g.Memory),
	}, err
}

func (h smiHeat) temperatures() (now, slowdown, shutdown *int) {
	now, margin := celsius(h.Now), celsius(h.Margin)
	return now, cmp.Or(celsius(h.Slowdown), AtMargin(now, margin, celsius(h.SlowdownMargin))),
		cmp.Or(celsius(h.Shutdown), AtMargin(now, margin, celsius(h.ShutdownMargin)))
}

func (g smiGPU) ecc() *ECC {
	mode, has := smiMode(g.ECC.Current, g.ECC.Pending)
	if !has {
		return nil
	}
	return &ECC{Mode: mode, Volatile: g.Volatile.errors(), Aggregate: g.Aggregate.errors()}
}

func (e smiErrors) errors() Errors {
	return Errors{
		Corrected:   sum(e.Corrected, e.DRAM, e.SingleBit),
		Uncorrected: sum(e.SRAM, e.Parity, e.SECDED, e.Uncorrected, e.DoubleBit),
	}
}

func (r smiRows) rows() *Rows {
	corrected, uncorrected := quantity[int]("", 1, r.Corrected), quantity[int]("", 1, r.Uncorrected)
	if corrected == nil || uncorrected == nil {
		return nil
	}
	return &Rows{*corrected, *uncorrected, text(r.Pending) == "Yes", text(r.Failed) == "Yes"}
}

func (g smiGPU) mig() *MIG {
	mode, has := smiMode(g.MIG.Current, g.MIG.Pending)
	if !has {
		return nil
	}
	m := &MIG{Mode: mode}
	for _, p := range g.Instances {
		m.Instances = append(m.Instances, Instance{GPU: quantity[int]("", 1, p.GPU), Compute: quantity[int]("", 1, p.Compute)})
	}
	return m
}

func (f smiFabric) fabric() *Fabric {
	states := map[string]FabricState{"Not Started": FabricNotStarted, "In Progress": FabricInProgress, "Completed": FabricCompleted}
	state, is := states[text(f.State)]
	if !is {
		return nil
	}
	found := &Fabric{State: state}
	if status := text(f.Status); state == FabricCompleted && status != "Success" {
		found.Error = status
	}
	return found
}

// text returns "" for a value that a GPU does not have.
func text(value string) string {
	value = strings.TrimSpace(value)
	switch value {
	case "N/A", "[N/A]", "None", "Not Found": // "Not Found" is the CUDA version without its library
		return ""
	}
	return value
}

func smiMode(current, pending string) (mode Mode, has bool) {
	const on, off = "Enabled", "Disabled"
	current, pending = text(current), text(pending)
	if current != on && current != off || pending != on && pending != off {
		return Mode{}, false
	}
	return Mode{current == on, pending == on}, true
}

// quantity returns the first value that is a number with unit, multiplied by scale. nvidia-smi has
// several texts for a missing value: "N/A", "Requested functionality has been deprecated", "Unknown
// Error".
func quantity[N int | int64](unit string, scale float64, values ...string) *N {
	for _, v := range values {
		number, has := strings.CutSuffix(strings.TrimSpace(v), unit)
		f, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
		if has && err == nil && f >= 0 && f < 1<<40 { // above all real values, and no overflow
			n := N(math.Round(f * scale))
			return &n
		}
	}
	return nil
}

// celsius accepts negative values, unlike quantity, because a margin may be negative.
func celsius(value string) *int {
	number, has := strings.CutSuffix(strings.TrimSpace(value), "C")
	n, err := strconv.ParseInt(strings.TrimSpace(number), 10, 16)
	if !has || err != nil {
		return nil
	}
	degrees := int(n)
	return &degrees
}

// sum returns nil if no value is a number.
func sum(values ...[]string) *uint64 {
	var total *uint64
	for _, kind := range values {
		for _, v := range kind {
			if n, err := strconv.ParseUint(strings.TrimSpace(v), 10, 48); err == nil {
				if total == nil {
					total = new(uint64)
				}
				*total += n
			}
		}
	}
	return total
}

// busAddress converts the library's "00000000:17:00.0" to "0000:17:00.0" as in sysfs.
func busAddress(id string) (string, error) {
	var domain, bus, device, function uint32
	if _, err := fmt.Sscanf(strings.TrimSpace(id), "%x:%x:%x.%x", &domain, &bus, &device, &function); err != nil {
		return "", errors.New("invalid PCI address " + strconv.Quote(id))
	}
	return Address(domain, bus, device, function), nil
}

// Address returns a PCI address in the kernel's format: "0000:17:00.0".
func Address(domain, bus, device, function uint32) string {
	return fmt.Sprintf("%04x:%02x:%02x.%x", domain, bus, device, function)
}
