package plot

import "math"

// Axis is a direction of a plot: its range of numbers, and the text along it. It has no line of its
// own; the grid shows its place.
type Axis struct {
	Min, Max float64
	Scale    Scale

	// Title is written in the middle; empty for none.
	Title        string
	TitleStyle   TextStyle
	TitlePadding Length

	Padding Length // between labels and data

	Tick struct {
		Label  TextStyle
		Marker Ticker
	}
}

// Tick is a number on an axis, with its label.
type Tick struct {
	Value float64
	Label string
}

// Ticker chooses the ticks of an axis from its ends.
type Ticker interface {
	Ticks(low, high float64) []Tick
}

// ConstantTicks are the same whatever the ends.
type ConstantTicks []Tick

// Ticks implements [Ticker].
func (t ConstantTicks) Ticks(float64, float64) []Tick { return t }

// Scale says which share of an axis lies below a number.
type Scale interface {
	Share(low, high, x float64) float64
}

// LinearScale has equal steps for equal differences.
type LinearScale struct{}

// Share implements [Scale].
func (LinearScale) Share(low, high, x float64) float64 { return (x - low) / (high - low) }

// LogScale has equal steps for equal ratios. All numbers must be above 0: another
// one is a mistake of the program.
type LogScale struct{}

// Share implements [Scale].
func (LogScale) Share(low, high, x float64) float64 {
	if low <= 0 || high <= 0 || x <= 0 {
		panic("plot: a number that is not above 0 on a logarithmic axis")
	}
	from := math.Log(low)
	return (math.Log(x) - from) / (math.Log(high) - from)
}

// Share is the share of the axis that lies below a number.
func (a *Axis) Share(x float64) float64 { return a.Scale.Share(a.Min, a.Max, x) }

// extend extends the axis to the drawn data.
func (a *Axis) extend(low, high float64) { a.Min, a.Max = math.Min(a.Min, low), math.Max(a.Max, high) }

// settle gives an axis a range that can be drawn.
func (a *Axis) settle() {
	if math.IsInf(a.Min, 0) {
		a.Min = 0
	}
	if math.IsInf(a.Max, 0) {
		a.Max = 0
	}
	if a.Min > a.Max {
		a.Min, a.Max = a.Max, a.Min
	}
	if a.Min == a.Max {
		a.Min--
		a.Max++
	}
}

func (a *Axis) ticks() []Tick { return a.Tick.Marker.Ticks(a.Min, a.Max) }

// titleHeight is the room for the title below the labels.
func (a *Axis) titleHeight() Length {
	if a.Title == "" {
		return 0
	}
	return a.TitleStyle.Height() + a.TitlePadding
}

// height is the room below the data for an axis that lies.
func (a *Axis) height() Length {
	h := a.titleHeight() + a.Padding
	if len(a.ticks()) > 0 {
		h += a.Tick.Label.Height()
	}
	return h
}

// width is the room at the left of the data for an axis that stands.
func (a *Axis) width() Length {
	w := a.Padding
	if labels := a.labelWidth(); labels > 0 {
		w += labels + a.TitleStyle.Width(" ")
	}
	return w
}

// labelWidth is that of the widest label.
func (a *Axis) labelWidth() (w Length) {
	for _, t := range a.ticks() {
		w = max(w, a.Tick.Label.Width(t.Label))
	}
	return w
}

// drawLying writes title and labels below the data.
func (a *Axis) drawLying(c Canvas) {
	if a.Title != "" {
		at := Point{(c.Max.X-c.Min.X)/2 + c.Min.X, c.Min.Y + a.TitleStyle.descent()}
		c.FillText(a.TitleStyle, at, a.Title)
	}
	y := c.Min.Y + a.titleHeight() + a.Tick.Label.Height() + a.Tick.Label.descent()
	for _, t := range a.ticks() {
		if x := c.x(a.Share(t.Value)); c.containsX(x) {
			c.FillText(a.Tick.Label, Point{x, y}, t.Label)
		}
	}
}

// drawStanding writes labels at the left of the data.
func (a *Axis) drawStanding(c Canvas) {
	x := c.Min.X + a.labelWidth()
	for _, t := range a.ticks() {
		if y := c.y(a.Share(t.Value)); c.containsY(y) {
			c.FillText(a.Tick.Label, Point{x, y + a.Tick.Label.descent()}, t.Label)
		}
	}
}

// boxesLying is the room that labels take beyond the data's sides.
func (a *Axis) boxesLying() (boxes []Box) {
	up := Length(0)
	if a.Title != "" {
		boxes = append(boxes, Box{X: a.Share((a.Max + a.Min) / 2),
			Rectangle: a.TitleStyle.rectangle(a.Title).Add(Point{Y: a.TitleStyle.descent()})})
		up = a.titleHeight()
	}
	for _, t := range a.ticks() {
		at := Point{Y: up + a.Tick.Label.Height() + a.Tick.Label.descent()}
		boxes = append(boxes, Box{X: a.Share(t.Value), Rectangle: a.Tick.Label.rectangle(t.Label).Add(at)})
	}
	return boxes
}

// boxesStanding is the room that labels take beyond the data's upper edge.
func (a *Axis) boxesStanding() (boxes []Box) {
	at := Point{a.labelWidth(), a.Tick.Label.units(descent + leading)}
	for _, t := range a.ticks() {
		boxes = append(boxes, Box{Y: a.Share(t.Value), Rectangle: a.Tick.Label.rectangle(t.Label).Add(at)})
	}
	return boxes
}
