mod comparing;
mod reading;
