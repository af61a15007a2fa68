use invivo_otfx::{Buffer, Nesting, Strategy, Attributes, Geometry};
use std::time::Instant;
mod streams;
use streams::*;
fn best(mut f: impl FnMut() -> (usize, f64)) -> (f64, f64) { let mut b = f64::MAX; let mut by=0.; for _ in 0..15 { let t=Instant::now(); let (n, bytes)=f(); let d=t.elapsed().as_secs_f64()*1e9/n as f64; if d<b {b=d;} by=bytes/n as f64; } (b,by) }
fn main() {
    if std::env::args().count() > 1 { let made = Calls::made_up(1<<17); let p = passes(&steps(1<<17)); let mut buffer = Buffer::with_geometry(Geometry::with_bins(24<<20, 16<<10), Strategy::flight_recorder()).unwrap();
     for _ in 0..8 { for (call, parts) in made.iter() { buffer.store(call, parts); } buffer.reset(); for (p,a) in &p { buffer.store_region(p, *a); } buffer.reset(); } return; }
    let melt = Calls::recorded(std::path::Path::new("target/bench/melt.0")).unwrap();
    let made = Calls::made_up(1<<20);
    println!("melt calls {} parts {}", melt.len(), melt.iter().map(|(_,p)|p.len()).sum::<usize>());
    for (name, c) in [("melt", &melt), ("made", &made)] {
        let mut buffer = Buffer::with_geometry(Geometry::with_bins(24<<20, 16<<10), Strategy::flight_recorder()).unwrap();
        let r = best(|| { buffer.reset(); for (call, parts) in c.iter() { buffer.store(call, parts); } (c.len(), buffer.fill().bytes_used as f64)});
        println!("{name} store {:.2} ns {:.2} B  kept {:?}", r.0, r.1, buffer.ledger());
        let mut n = 0;
        let r = best(|| { n=0; let mut reader=buffer.read(); while let Some(x)=reader.next().unwrap() { n+= 1; std::hint::black_box(x);} (n, 0.)});
        println!("{name} read {:.2} ns {n}", r.0);
    }
    for bin in [1,2,4,8,16,32] {
        let mut buffer = Buffer::with_geometry(Geometry::with_bins(24<<20, bin<<10), Strategy::flight_recorder()).unwrap();
        let r = best(|| { buffer.reset(); for (call, parts) in melt.iter() { buffer.store(call, parts); } (melt.len(), buffer.fill().bytes_used as f64)});
        println!("bin {bin} KiB {:.2} ns {:.2} B", r.0, r.1);
    }
    let steps = steps(1<<19);
    let mut buffer = Buffer::with_geometry(Geometry::with_bins(24<<20, 16<<10), Strategy::flight_recorder()).unwrap();
    let r = best(|| { buffer.reset(); let mut nesting = Nesting::default(); for s in &steps { if s.enters { nesting.enter(s.region, s.time) } else if let Some((pass, depth)) = nesting.leave(s.region, s.time) { buffer.store_region(&pass, Attributes{depth, clipped:false}); } } (steps.len()/2, buffer.fill().bytes_used as f64)});
    println!("pairs {:.2} ns {:.2} B", r.0, r.1);
    let passes = passes(&steps);
    let r = best(|| { buffer.reset(); for (p,a) in &passes { buffer.store_region(p, *a); } (passes.len(), buffer.fill().bytes_used as f64)});
    println!("passes {:.2} ns {:.2} B", r.0, r.1);
    for counters in [2,8] { let s = samples(100_000, counters);
      let r = best(|| { buffer.reset(); for (n,(time,values)) in s.iter().enumerate() { buffer.store_sample(&invivo_otfx::Sample{time:*time, ordinal: n as u64+1, context: 7, values}); } (s.len(), buffer.fill().bytes_used as f64)});
      println!("samples {counters}: {:.2} ns {:.2} B", r.0, r.1); }
}
